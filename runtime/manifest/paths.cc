// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/paths.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

bool is_variable_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  for (const char c : name)
    if (!letter(c) && (c < '0' || c > '9')) return false;
  return !name.empty() && letter(name[0]);
}

// Returns the "$NAME" or "$(NAME)" at the start of a part of the path. A shell or a Makefile would replace it. Else
// empty.
std::string_view variable_without_braces(std::string_view path) {
  for (std::size_t at = path.find('$'); at != path.npos; at = path.find('$', at + 1)) {
    if (at > 0 && path[at - 1] != '/') continue;
    const std::string_view variable = path.substr(at, std::min(path.find('/', at), path.size()) - at);
    const bool in_parentheses = variable.starts_with("$(") && variable.ends_with(')');
    if (is_variable_name(variable.substr(1)) ||
        (in_parentheses && is_variable_name(variable.substr(2, variable.size() - 3))))
      return variable;
  }
  return "";
}

// Returns the fix for a variable that is not set. An Environment has no list of its names, so it uses those of this
// process.
std::string help_for_unset(const std::string& name, const Environment& env) {
  std::vector<std::string> set;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    std::string other(text.substr(0, text.find('=')));
    if (is_variable_name(other) && env(other)) set.push_back(std::move(other));
  }
  const std::string near = nearest(name, set);
  return fmt::format("{}set it before the run: export {}=...",
                     near.empty() ? "" : "did you mean ${" + near + "}, which is set? Else ", name);
}

// Replaces ${NAME} and keeps everything else.
std::optional<std::string> with_variables(std::string_view text, const Environment& env, const Location& at,
                                          Diagnostics& problems) {
  std::string out;
  bool all_set = true;
  while (!text.empty()) {
    const std::size_t begin = text.find("${");
    out += text.substr(0, begin);
    if (begin == text.npos) break;
    const std::size_t end = text.find('}', begin);
    const std::string name(end == text.npos ? "" : text.substr(begin + 2, end - begin - 2));
    if (!is_variable_name(name)) {
      problems.add(at, "[B1018] \"${\" begins a variable, but no name and '}' follow",
                   "write ${NAME}: letters, digits and '_'");
      return std::nullopt;
    }
    if (const std::optional<std::string> value = env(name)) {
      out += *value;
    } else {
      problems.add(at, fmt::format("[B1017] the environment variable {} is not set", name), help_for_unset(name, env));
      all_set = false;
    }
    text.remove_prefix(end + 1);
  }
  if (!all_set) return std::nullopt;
  return out;
}

// The directory has no symbolic links, so ".." can be removed from it.
std::string below(std::string directory, std::string_view path) {
  while (path == "." || path == ".." || path.starts_with("./") || path.starts_with("../")) {
    if (path.starts_with("..")) directory.erase(std::max<std::size_t>(directory.rfind('/'), 1));
    path.remove_prefix(std::min(path.find('/'), path.size()));
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  }
  if (!path.empty() && !directory.ends_with('/')) directory += '/';
  return directory.append(path);
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

std::string directory_of(const std::string& manifest_file) {
  const std::filesystem::path directory = std::filesystem::absolute(manifest_file).parent_path();
  std::error_code unresolved;
  const std::filesystem::path without_links = std::filesystem::weakly_canonical(directory, unresolved);
  return unresolved ? directory.string() : without_links.string();
}

const std::string& ManifestDirectories::at(const Location& place) const {
  const auto other = others.find(place.file);
  return other == others.end() ? first : other->second;
}

std::optional<std::string> expand_path(std::string_view text, const ManifestDirectories& directories,
                                       const Environment& env, const Location& at, Diagnostics& problems) {
  if (text.find('\0') != text.npos) {
    problems.add(at, "[B1019] a path must not hold a NUL", "take the character out");
    return std::nullopt;
  }
  if (text == "~" || text.starts_with("~/")) {
    problems.add(at, "[B1018] \"~\" is not expanded", "write ${HOME}" + std::string(text.substr(1)));
    return std::nullopt;
  }
  if (const std::string variable(variable_without_braces(text)); !variable.empty()) {
    const std::size_t name = variable[1] == '(' ? 2 : 1;
    problems.add(at, fmt::format("[B1018] \"{}\" is not expanded", variable),
                 "write ${" + variable.substr(name, variable.size() - 2 * name + 1) + "}");
    return std::nullopt;
  }
  std::optional<std::string> path = with_variables(text, env, at, problems);
  if (!path) return std::nullopt;
  if (path->empty()) {
    problems.add(at, "[B1019] this path is empty", "write a path, or take the key away");
    return std::nullopt;
  }
  return path->starts_with('/') ? *path : below(directories.at(at), *path);
}

}  // namespace belay::runtime
