// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/problems/plugin_problem.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/loader/file/load_error.h"  // at_text
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Returns the first place at which the message quotes the word; npos: it does not.
std::size_t quoted_at(const std::string& message, const std::string& word) {
  if (word.empty()) return message.npos;
  return std::min(message.find(single_quoted(word)), message.find(double_quoted(word)));
}

bool quotes(const std::string& message, const std::string& word) { return quoted_at(message, word) != message.npos; }

// "'layers.2.units'", or as the first of the plugin's own words: "label: ...", "alpha must ...".
bool names_key(const std::string& message, const std::string& key) {
  return quotes(message, key) || message.find(": " + key + ": ") != message.npos ||
         message.find(": " + key + " ") != message.npos;
}

// "'layers.2'" of the key "layers.2.units".
bool names_table(const std::string& message, const std::string& key) {
  for (std::size_t dot = key.rfind('.'); dot != key.npos && dot != 0; dot = key.rfind('.', dot - 1))
    if (names_key(message, key.substr(0, dot))) return true;
  return false;
}

// Returns the place at which the message quotes the rest of a key below a table that it names, or a part of this rest:
// "class_weights: ... no class "yse"" of the key "class_weights.yse", and "columns: no column "town"" of the key
// "columns.town.type". Without `named` the table need not be named.
std::size_t names_rest_at(const std::string& message, const std::string& key, bool named) {
  std::size_t first = message.npos;
  for (std::size_t dot = key.find('.'); dot != key.npos; dot = key.find('.', dot + 1)) {
    if (named && !names_key(message, key.substr(0, dot))) continue;
    const std::string rest = key.substr(dot + 1);
    for (std::size_t end = rest.size(); end != rest.npos && end != 0;
         end = named ? rest.rfind('.', end - 1) : rest.npos)
      first = std::min(first, quoted_at(message, rest.substr(0, end)));
  }
  return first;
}

// The option with the key whose rest the message quotes first; null: there is none.
const PluginOption* option_of_rest(const PluginUse& use, const std::string& message, bool named) {
  const PluginOption* found = nullptr;
  std::size_t first = message.npos;
  for (const PluginOption& o : use.options)
    if (const std::size_t at = names_rest_at(message, o.key, named); at < first) found = &o, first = at;
  return found;
}

bool names_value(const std::string& message, const OptionValue& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return quotes(message, *word);
  const auto* words = std::get_if<std::vector<std::string>>(&value);
  return words != nullptr &&
         std::any_of(words->begin(), words->end(), [&](const std::string& word) { return quotes(message, word); });
}

Location place_in(const PluginUse& use, const std::string& message) {
  for (const PluginOption& o : use.options)
    if (names_key(message, o.key)) return o.value_at;
  if (const PluginOption* o = option_of_rest(use, message, true)) return o->key_at;
  for (const PluginOption& o : use.options)
    if (names_table(message, o.key)) return o.key_at;
  if (const PluginOption* o = option_of_rest(use, message, false)) return o->value_at;
  for (const PluginOption& o : use.options)
    if (names_value(message, o.value)) return o.value_at;
  return use.plugin_at;
}

}  // namespace

bool is_of_manifest(const Error& error) {
  switch (error.code()) {
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
    case Code::kPermissionDenied:
    case Code::kUnimplemented: return true;
    default: return false;
  }
}

bool is_of_input(const Error& error) { return is_of_manifest(error) || error.code() == Code::kDataLoss; }

void add_plugin_problem(const PluginUse& use, const Error& error, Diagnostics& problems) {
  CodedMessage coded = take_code(error.what());
  std::string& message = coded.text;
  if (const std::string place = at_text(use.at); message.starts_with(place)) message.erase(0, place.size());
  Diagnostic problem{place_in(use, message), message, ""};
  problem.code = coded.code.empty() ? "B2045" : std::move(coded.code);
  problems.add(std::move(problem));
}

}  // namespace belay::runtime
