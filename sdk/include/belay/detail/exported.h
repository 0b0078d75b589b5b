// SPDX-License-Identifier: Apache-2.0
// The exported data of a library's plugin classes, made at compile time: the tables, and the note of their options.
#pragma once

#include <array>
#include <string_view>
#include <type_traits>

#include "belay/detail/check_class.h"
#include "belay/detail/note.h"
#include "belay/detail/thunks.h"

namespace belay {
inline namespace v0 {
namespace detail {

template <class T>
struct Exported {
  static constexpr auto table = make_table<T>();
  static constexpr auto name = [] {
    std::array<char, T::about.name.size() + 1> text{};
    for (std::size_t i = 0; i < T::about.name.size(); ++i) text[i] = T::about.name[i];
    return text;
  }();
  static constexpr belay_plugin plugin{kind_of<T>(), 0, name.data(), &table};
};

// The data that the macro needs, for one list of classes.
template <class... T>
struct Module {
  static constexpr std::string_view kinds[] = {kind_name(kind_of<T>())...};
  static constexpr const belay_plugin* plugins[] = {&Exported<T>::plugin...};

  static constexpr std::size_t note_size(std::string_view version) {
    NoteWriter w(nullptr);
    write_note<T...>(w, version, kinds);
    return w.size();
  }
  template <std::size_t N>
  static constexpr NoteBytes<N> note(std::string_view version) {
    NoteBytes<N> bytes{6, N, BELAY_NOTE_TYPE, {'B', 'E', 'L', 'A', 'Y'}, {}};
    NoteWriter w(bytes.text);
    write_note<T...>(w, version, kinds);
    return bytes;
  }
};
// Takes the place of refused classes, so no other error follows.
template <>
struct Module<> {
  static constexpr const belay_plugin* plugins[] = {nullptr};
  static constexpr std::size_t note_size(std::string_view) { return 4; }
  template <std::size_t N>
  static constexpr NoteBytes<N> note(std::string_view) {
    return {};
  }
};
template <class... T>
using CheckedModule = std::conditional_t<check_classes<T...>(), Module<T...>, Module<>>;

}  // namespace detail
}  // namespace v0
}  // namespace belay
