// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/examples_command.h"

#include <algorithm>
#include <functional>
#include <iostream>

#include "belay/nearest.h"
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/text/text_table.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Returns the first clause of the comment at its start.
std::string about(const Example& example) {
  std::string text;
  for (std::size_t begin = 0; example.text.substr(begin, 2) == "# ";) {
    const std::size_t end = example.text.find('\n', begin);
    text += (text.empty() ? "" : " ") + std::string(example.text.substr(begin + 2, end - begin - 2));
    begin = end + 1;
  }
  std::size_t end = text.find_first_of(":;");
  end = std::min(end, text.find(". "));
  if (end == text.npos && text.ends_with('.')) end = text.size() - 1;
  return text.substr(0, end);
}

// Returns its comment about its data: "./dev data iris". Empty: it reads none.
std::string data_of(const Example& example) {
  const std::size_t begin = example.text.find("./dev data ");
  if (begin != example.text.npos)
    return std::string(example.text.substr(begin, example.text.find_first_of(")\n", begin) - begin));
  return example.text.find("${BELAY_") == example.text.npos ? "" : "data that its first lines name";
}

const Example& find_example(const std::string& name) {
  std::vector<std::string> names;
  for (const Example& e : examples()) {
    if (e.name == name || std::string(e.name) + ".toml" == name) return e;
    names.emplace_back(e.name);
  }
  throw UsageError("[B5005] belay examples: there is no example \"" + escaped(name) + "\"" + did_you_mean(name, names) +
                   "; belay examples lists them");
}

// In the source tree the run directories are beside examples/.
std::string below_the_manifest(std::string_view text) {
  const std::string there = "dir = \"../runs/", here = "dir = \"runs/";
  std::string changed(text);
  for (std::size_t at = 0; (at = changed.find(there, at)) != changed.npos; at += here.size())
    changed.replace(at, there.size(), here);
  return changed;
}

}  // namespace

int examples_command(const std::vector<std::string>& names, FileSystem& files, const std::string& directory,
                     std::ostream& out) {
  if (names.empty()) {
    TextTable table;
    for (const bool needs_data : {false, true})
      for (const Example& e : examples())
        if (const std::string data = data_of(e); data.empty() != needs_data)
          table.add({std::string(e.name), about(e) + (data.empty() ? "" : "; needs " + data)});
    out << table.text("") << "\nbelay examples NAME makes NAME.toml\n";
    return 0;
  }
  const auto here = files.open_directory(directory);
  std::vector<const Example*> wanted;
  for (const std::string& name : names) {
    const Example& example = find_example(name);
    if (std::find(wanted.begin(), wanted.end(), &example) != wanted.end()) continue;
    const std::string file = std::string(example.name) + ".toml";
    if (here->exists(file))
      throw UsageError("[B5007] belay examples: \"" + file + "\" is there already; move it away or remove it");
    wanted.push_back(&example);
  }
  for (const Example* example : wanted) {
    const std::string name = std::string(example->name) + ".toml", text = below_the_manifest(example->text);
    const auto file = here->create(name);
    file->write(text.data(), text.size());
    file->close();
    out << "made " << name << ": belay run " << name << "\n";
  }
  return 0;
}

Command declare_examples() {
  return {
      .name = "examples",
      .arguments = "[NAME...]",
      .what = "lists example manifests, or writes those named into this folder",
      .run =
          [](const Given& given) { return examples_command(given.arguments(), posix_file_system(), ".", std::cout); },
      .offers =
          [](std::size_t, const std::string&, const std::function<PluginSearch()>&) {
            std::vector<std::string> names;
            for (const Example& e : examples()) names.emplace_back(e.name);
            return names;
          }};
}

}  // namespace belay::runtime
