// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/arguments/command.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/lexical_cast.hpp>
#include <boost/program_options.hpp>
#include <sstream>
#include <utility>

#include "runtime/manifest/other_names.h"
#include "runtime/manifest/parse.h"
#include "runtime/platform/files/absolute_path.h"
#include "runtime/platform/text/text.h"

namespace po = boost::program_options;

namespace belay::runtime {
namespace {

template <class T>
const po::value_semantic* value_of(const CommandOption& option) {
  po::typed_value<T>* value = po::value<T>()->value_name(option.value);
  if (option.otherwise != nullptr) value->default_value(boost::lexical_cast<T>(option.otherwise), option.otherwise);
  return value;
}

const po::value_semantic* semantic_of(const CommandOption& option) {
  switch (option.takes) {
    case Takes::kNothing: break;
    case Takes::kText: return value_of<std::string>(option);
    case Takes::kTextOrNothing: return po::value<std::string>()->implicit_value("")->value_name(option.value);
    case Takes::kTexts: return po::value<std::vector<std::string>>()->value_name(option.value);
    case Takes::kInt: return value_of<int>(option);
    case Takes::kInteger: return value_of<std::int64_t>(option);
    case Takes::kNatural: return value_of<std::uint64_t>(option);
    case Takes::kNumber: return value_of<double>(option);
  }
  return new po::untyped_value(true);
}

po::options_description options_of(const Command& command) {
  po::options_description d("options");
  auto add = d.add_options();
  for (const CommandOption& o : command.options) add(o.name.c_str(), semantic_of(o), o.what.c_str());
  add("help", "prints this help");
  return d;
}

// Returns the help for an option that is a key of the manifest, or of other programs. It does not know the options of
// plugins.
std::string help_for_key(std::string name) {
  std::ranges::replace(name, '-', '_');
  for (const SectionKeys& section : manifest_keys()) {
    const bool is_list = section.section == "metrics" || section.section == "optimizer.groups";
    if (!section.section.empty() && !is_list && std::ranges::find(section.keys, name) != section.keys.end())
      return ": write --set " + section.section + "." + name + "=VALUE";
  }
  if (name == "batch_size") return ": write --set input.train.batch_size=VALUE";
  const std::string other = help_for_other_key(name);
  return other.empty() ? "" : "; in the manifest, " + other + ", or --set SECTION.KEY=VALUE here";
}

// Guesses the option that an unknown one means.
std::string meant_option(const std::string& name, const po::options_description& options) {
  std::vector<std::string> known;
  for (const auto& o : options.options()) known.push_back(o->long_name());
  const std::string near = did_you_mean(name, known);
  const bool sets = std::ranges::find(known, "set") != known.end();
  return near.empty() && sets ? help_for_key(name) : near;
}

}  // namespace

Given::Given(const Command& command, const std::vector<std::string>& args) : command_(command.name) {
  const po::options_description options = options_of(command);
  po::options_description all;
  all.add(options).add_options()("argument", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("argument", -1);
  po::variables_map values;
  try {
    using style = po::command_line_style::style_t;
    po::store(po::command_line_parser(args)
                  .options(all)
                  .positional(positional)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values);
    po::notify(values);
  } catch (const po::unknown_option& e) {
    std::string name = e.get_option_name();
    while (!name.empty() && name[0] == '-') name.erase(0, 1);
    name.resize(std::min(name.find('='), name.size()));
    throw UsageError("[B5002] belay " + command_ + " has no option --" + escaped(name) + meant_option(name, options) +
                     see_help());
  } catch (const po::error& e) {
    throw UsageError("[B5004] belay " + command_ + ": " + escaped(e.what()) + see_help());
  }
  values_ = std::make_shared<const po::variables_map>(std::move(values));
}

bool Given::has(const std::string& option) const { return values_->count(option) != 0; }

std::vector<std::string> Given::options() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : *values_)
    if (name != "argument") names.push_back(name);
  return names;
}

std::string Given::text(const std::string& option) const {
  return has(option) ? (*values_)[option].as<std::string>() : "";
}

std::vector<std::string> Given::texts(const std::string& option) const {
  return has(option) ? (*values_)[option].as<std::vector<std::string>>() : std::vector<std::string>();
}

std::string Given::path(const std::string& option) const {
  const std::string given = text(option);
  return given.empty() ? "" : absolute_path(given);
}

std::int64_t Given::integer(const std::string& option) const {
  const boost::any& value = (*values_)[option].value();
  const int* small = boost::any_cast<int>(&value);
  return small != nullptr ? *small : boost::any_cast<std::int64_t>(value);
}

std::uint64_t Given::natural(const std::string& option) const { return (*values_)[option].as<std::uint64_t>(); }

double Given::number(const std::string& option) const { return (*values_)[option].as<double>(); }

std::string Given::argument(const std::string& what) const {
  const std::vector<std::string> given = arguments();
  if (given.size() == 1) return given[0];
  throw UsageError(fmt::format("[B5003] belay {} takes one {}, {}{}", command_, what,
                               given.empty() ? std::string("none was given")
                                             : std::to_string(given.size()) + " were given: " + escaped(joined(given)),
                               see_help()));
}

std::vector<std::string> Given::runs(std::size_t at_least) const {
  std::vector<std::string> given = arguments();
  if (given.size() >= at_least) return given;
  throw UsageError(fmt::format("[B5003] belay {} takes {}, {} given{}", command_,
                               at_least == 1 ? "a run's directory" : "two or more runs' directories",
                               given.empty() ? "none was" : std::to_string(given.size()) + " was", see_help()));
}

bool Given::is_json(const std::string& option) const {
  const std::string format = text(option);
  if (format != "text" && format != "json")
    throw UsageError("[B5004] belay " + command_ + ": --" + option + " is \"" + escaped(format) +
                     "\", must be text or json");
  return format == "json";
}

std::string help_text(const Command& command) {
  std::ostringstream out;
  out << "usage: belay " << command.name << (command.arguments.empty() ? "" : " ") << command.arguments
      << " [OPTIONS]\n\n"
      << command.what << "\n\n"
      << options_of(command);
  return out.str();
}

}  // namespace belay::runtime
