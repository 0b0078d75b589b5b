// SPDX-License-Identifier: Apache-2.0
// A command of the program: its declaration, and the values from a command line. Parsing, `--help`, the manual page and
// the completion of shells use the declaration. It is in the command's file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belay/error.h"
#include "runtime/loader/file/search.h"

namespace boost::program_options {
class variables_map;
}

namespace belay::runtime {

// The command line is wrong; the message names the mistake and the possible options. Exit status 2.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& text) : Error(Code::kInvalidArgument, text) {}
};

enum class Takes { kNothing, kText, kTextOrNothing, kTexts, kInt, kInteger, kNatural, kNumber };

struct CommandOption {
  std::string name;  // "log-format"; "quiet,q": -q is short for it
  std::string what;
  Takes takes = Takes::kNothing;
  std::string value = {};  // in the help: "text|json"
  const char* otherwise = nullptr;
  std::optional<PluginKind> plugins = {};  // a shell offers the names of these

  std::string full_name() const { return "--" + name.substr(0, name.find(',')); }
};
using CommandOptions = std::vector<CommandOption>;

class Given;

struct Command {
  std::string name;
  std::string arguments = {};  // in the help: "MANIFEST.toml..."
  std::string what = {};
  CommandOptions options = {};  // each command also has --help
  // Returns the exit status.
  int (*run)(const Given& given) = nullptr;
  bool computes = false;  // it runs kernels, so the process starts twice
  // The words that a shell offers for the argument at `place`, which begins with `word`; null: files.
  std::vector<std::string> (*offers)(std::size_t place, const std::string& word,
                                     const std::function<PluginSearch()>& search) = nullptr;
};

class Given {
 public:
  // UsageError for an option or a value that the command does not accept.
  Given(const Command& command, const std::vector<std::string>& args);

  const std::string& command() const noexcept { return command_; }
  bool has(const std::string& option) const;
  // The options that have a value, by name.
  std::vector<std::string> options() const;
  // Without the option these are empty.
  std::string text(const std::string& option) const;
  std::vector<std::string> texts(const std::string& option) const;
  // Returns a path relative to the current directory as an absolute one.
  std::string path(const std::string& option) const;
  // The option must have a value.
  std::int64_t integer(const std::string& option) const;
  std::uint64_t natural(const std::string& option) const;
  double number(const std::string& option) const;

  std::vector<std::string> arguments() const { return texts("argument"); }
  // Returns the only argument, which is a `what`. UsageError for none, and for several.
  std::string argument(const std::string& what) const;
  // Returns directories of runs. UsageError for fewer than `at_least` (1 or 2).
  std::vector<std::string> runs(std::size_t at_least) const;

  // Whether the option is "json". UsageError if it is not "text" either.
  bool is_json(const std::string& option) const;
  // "; see belay COMMAND --help"
  std::string see_help() const { return "; see belay " + command_ + " --help"; }

 private:
  std::string command_;
  std::shared_ptr<const boost::program_options::variables_map> values_;
};

// "belay COMMAND --help".
std::string help_text(const Command& command);

}  // namespace belay::runtime
