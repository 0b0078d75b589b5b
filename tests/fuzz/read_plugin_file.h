// SPDX-License-Identifier: Apache-2.0
// Everything that the loader reads of a plugin file before it loads it, on any bytes: for the fuzz target and for the
// test of mutated plugins.
#pragma once

#include <string_view>

#include "runtime/loader/file/elf_file.h"
#include "runtime/loader/note/note.h"

namespace belay::runtime {

inline void read_plugin_file(std::string_view bytes) {
  const MemoryBytes source(bytes);
  const auto contained = [](auto&& read) {
    try {
      read();
    } catch (const LoadError&) {
    } catch (const NoteError&) {
    }
  };
  contained([&] {
    const ElfFile elf(source, "mutated.so");
    contained([&] {
      if (const auto note = elf.note("BELAY", BELAY_NOTE_TYPE)) parse_note(*note);
    });
    contained([&] { (void)elf.dynamic(); });
    contained([&] { (void)elf.version_needs(); });
    contained([&] { (void)elf.version_definitions(); });
    contained([&] { (void)elf.exports(); });
    contained([&] { (void)elf.find_export("belay_module_v0"); });
  });
}

}  // namespace belay::runtime
