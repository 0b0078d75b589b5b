// SPDX-License-Identifier: Apache-2.0
#include "source_names.h"

#include <belay/error.h>
#include <belay/nearest.h>

#include <algorithm>
#include <string_view>

#include "../name_patterns.h"
#include "table_entries.h"

namespace warm_start {
namespace {

using belay::Code;
using belay::fail;
using init_fns::joined;

// Returns "bert/" as a prefix of names. "/", the root, becomes empty.
std::string prefix_of(const TableEntry& entry, std::string_view key) {
  const std::string_view scope = entry.text(key);
  if (scope.empty() || scope == "/") return {};
  if (scope.back() != '/')
    fail(Code::kInvalidArgument, entry.place() + ": '" + std::string(key) + "' is \"" + std::string(scope) +
                                     "\"; a scope ends in '/': \"" + std::string(scope) + "/\"");
  return std::string(scope);
}

bool begins_with(const std::string& name, const std::string& prefix) {
  return name.compare(0, prefix.size(), prefix) == 0;
}

}  // namespace

SourceNames::SourceNames(const belay::Table& names, const belay::Table& scopes) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string variable(names.key(i));
    if (names.value(i).type != BELAY_VALUE_TEXT)
      fail(Code::kInvalidArgument, "'names." + variable + "' must be a string: a name in the checkpoint");
    names_.push_back({variable, std::string(names.text(i)), false});
  }
  for (const TableEntry& entry : entries_of("scopes", scopes)) {
    Scope scope{entry.place(), prefix_of(entry, "from"), prefix_of(entry, "to"), false};
    for (const Scope& other : scopes_)
      if (other.to == scope.to)
        fail(Code::kInvalidArgument, scope.place + " and " + other.place + " have the same 'to', \"" +
                                         (scope.to.empty() ? "/" : scope.to) + "\"; take one of them out");
    scopes_.push_back(std::move(scope));
  }
}

SourceNames::Scope* SourceNames::scope_of(const std::string& variable) {
  Scope* longest = nullptr;
  for (Scope& scope : scopes_)
    if (begins_with(variable, scope.to) && (longest == nullptr || scope.to.size() > longest->to.size()))
      longest = &scope;
  return longest;
}

std::optional<Source> SourceNames::of(const std::string& variable, bool chosen) {
  const auto name = std::find_if(names_.begin(), names_.end(), [&](const Name& n) { return n.variable == variable; });
  if (name != names_.end()) {
    name->used = name->used || chosen;
    return Source{name->tensor, "'names'"};
  }
  if (scopes_.empty()) return Source{variable, ""};
  Scope* scope = scope_of(variable);
  if (scope == nullptr) return std::nullopt;
  scope->used = scope->used || chosen;
  return Source{scope->from + variable.substr(scope->to.size()), scope->place};
}

bool SourceNames::covers(const std::string& tensor) const {
  return scopes_.empty() ||
         std::any_of(scopes_.begin(), scopes_.end(), [&](const Scope& s) { return begins_with(tensor, s.from); });
}

std::vector<std::string> SourceNames::unused(const std::vector<std::string>& chosen) const {
  std::vector<std::string> all;
  for (const Name& n : names_)
    if (!n.used)
      all.push_back("'names' has '" + n.variable + "', which is no chosen variable" +
                    belay::did_you_mean(n.variable, chosen) + "; these are: " + joined(chosen));
  for (const Scope& s : scopes_)
    if (!s.used)
      all.push_back(s.place + ": no chosen variable lies below to = \"" + (s.to.empty() ? "/" : s.to) +
                    "\"; there are: " + joined(chosen));
  return all;
}

}  // namespace warm_start
