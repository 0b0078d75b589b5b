// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/note/note.h"

#include <fmt/core.h>

#include <cstdint>
#include <set>
#include <utility>

#include "belay/detail/check_class.h"
#include "belay/detail/parse_options.h"
#include "runtime/loader/note/note_field.h"
#include "runtime/loader/note/note_option.h"

namespace belay::runtime {
namespace {

constexpr int kMaxDepth = 8;

std::string plugin_name(const NoteField& field) {
  std::string name = field.text();
  if (!detail::is_plugin_name(name))
    field.fail("is " + shown(name) + ", must be [a-z][a-z0-9_-]{0,62} or VENDOR.NAME of such");
  return name;
}

PluginKind read_kind(const NoteField& kind) {
  const std::string text = kind.text();
  if (const auto known = kind_from_name(text)) return *known;
  std::vector<std::string> all;
  for (const PluginKind k : kPluginKinds) all.emplace_back(kind_name(k));
  throw UnknownHere(kind.said("is " + shown(text) + ", this host knows: " + joined(all)));
}

// Throws UnknownHere or NoteError.
PluginInfo read_plugin(const NoteField& field) {
  PluginInfo plugin;
  const NoteField kind = field.get("kind");
  plugin.name = plugin_name(field.get("name"));
  plugin.kind = read_kind(kind);
  if (const auto doc = field.find("doc")) plugin.doc = doc->text();
  if (const auto uses = field.find("uses")) plugin.uses = texts(*uses);
  if (const auto state = field.find("state")) plugin.state = state->boolean();
  if (const auto options = field.find("options")) read_note_options(*options, plugin);
  return plugin;
}

void check_depth(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_text = !in_text;
    if (in_text) {
      i += c == '\\' ? 1 : 0;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) throw NoteError(fmt::format("it is nested deeper than {} levels", kMaxDepth));
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

Json parse_json(std::string_view text) {
  check_depth(text);  // the parser could do it, but would take half as long again
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    throw NoteError(std::string("it is no JSON: ") + e.what());
  }
}

}  // namespace

const char* kind_name(PluginKind kind) noexcept { return detail::kind_name(static_cast<int>(kind)).data(); }

std::optional<PluginKind> kind_from_name(std::string_view name) noexcept {
  for (const PluginKind kind : kPluginKinds)
    if (name == kind_name(kind)) return kind;
  return std::nullopt;
}

const char* type_name(const OptionInfo& option) noexcept { return detail::option_type_name(option.type, option.list); }

const OptionInfo* PluginInfo::option(std::string_view option_name) const noexcept {
  for (const OptionInfo& o : options)
    if (o.name == option_name) return &o;
  return nullptr;
}

bool abi_fits(std::int64_t major, std::int64_t minor) noexcept {
  if (major != BELAY_ABI_MAJOR) return false;
  return BELAY_ABI_MAJOR == 0 ? minor == BELAY_ABI_MINOR : minor <= BELAY_ABI_MINOR;
}

ModuleInfo parse_note(std::string_view text) {
  const Json json = parse_json(text);
  const NoteField note(json);
  if (!json.is_object()) throw NoteError("it must be a JSON object");
  ModuleInfo module;
  module.text = text;
  const NoteField abi = note.get("abi");
  const std::vector<NoteField> numbers = abi.items();
  if (numbers.size() != 2) abi.fail("must be [major, minor]");
  module.abi_major = numbers[0].integer();
  module.abi_minor = numbers[1].integer();
  if (const auto version = note.find("version")) module.version = version->text();
  if (const auto toolchain = note.find("toolchain")) module.toolchain = toolchain->text();
  if (!abi_fits(module.abi_major, module.abi_minor)) return module;
  if (const auto isa = note.find("isa")) module.isa = texts(*isa);
  const NoteField plugins = note.get("plugins");
  std::set<std::pair<PluginKind, std::string>> names;
  std::size_t index = 0;
  for (const NoteField& item : plugins.items()) {
    try {
      PluginInfo p = read_plugin(item);
      p.index = index++;
      if (!names.insert({p.kind, p.name}).second)
        item.fail(std::string("repeats the ") + kind_name(p.kind) + " \"" + p.name + "\"");
      module.plugins.push_back(std::move(p));
    } catch (const UnknownHere& e) {
      ++index;
      module.unusable.push_back({item.get("kind").text(), item.get("name").text(), e.what()});
    }
  }
  if (index == 0) plugins.fail("is empty");
  return module;
}

}  // namespace belay::runtime
