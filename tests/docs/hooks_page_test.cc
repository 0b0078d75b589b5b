// SPDX-License-Identifier: Apache-2.0
// docs/reference/hooks.md and init_fns.md against the notes of the plugins that were built.
#include <gmock/gmock.h>

#include <algorithm>
#include <stdexcept>

#include "runtime/loader/file/search.h"
#include "runtime/manifest/parse.h"
#include "runtime/manifest/toml_text.h"
#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string toml(bool value) { return value ? "true" : "false"; }
std::string toml(std::int64_t value) { return std::to_string(value); }
std::string toml(double value) { return toml_number(value); }
std::string toml(const std::string& value) { return toml_string(value); }
std::string toml(std::monostate) { return "[]"; }
template <class T>
std::string toml(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + toml(value);
  return "[" + text + "]";
}

// ">= 0.001", "0 to 1"; empty where all values are allowed.
std::string range_of(const OptionInfo& option) {
  const auto number = [](double v) {
    std::ostringstream text;
    text << v;
    return text.str();
  };
  if (option.min && option.max) return number(*option.min) + " to " + number(*option.max);
  return option.min ? ">= " + number(*option.min) : "";
}

struct KindOfPage {
  PluginKind kind;
  PluginTable table;
  const char* page;
};

class PluginsPage : public ::testing::TestWithParam<KindOfPage> {
 protected:
  std::vector<PluginInfo> plugins() const {
    FilePolicy policy;
    const PluginSearch search({{{BELAY_BINARY_DIR "/plugins", "the build"}}, {}}, policy, CpuFeatures());
    std::vector<PluginInfo> plugins;
    for (const FoundPlugin& plugin : search.plugins())
      if (plugin.info.kind == GetParam().kind) plugins.push_back(plugin.info);
    return plugins;
  }
  const PageSection& section_of(const PluginInfo& plugin) const {
    const PageSection* found = find_section(sections_, "`" + plugin.name + "`");
    if (found == nullptr) throw std::runtime_error(page_ + " has no heading for " + plugin.name);
    return *found;
  }
  const std::string page_ = std::string("docs/reference/") + GetParam().page + ".md";
  const std::vector<PageSection> sections_ = sections_of(read_source(page_));
};

TEST_P(PluginsPage, HasASectionForEachPluginAndForNoOther) {
  std::vector<std::string> built, documented;
  for (const PluginInfo& plugin : plugins()) built.push_back(plugin.name);
  for (const PageSection& section : sections_)
    if (section.heading.rfind('`', 0) == 0) documented.push_back(code_of(section.heading));
  std::sort(documented.begin(), documented.end());
  std::sort(built.begin(), built.end());
  EXPECT_THAT(documented, ElementsAreArray(built));
}

TEST_P(PluginsPage, EachTableHasThePluginsOptionsInTheirOrder) {
  for (const PluginInfo& plugin : plugins()) {
    std::vector<std::string> options;
    for (const OptionInfo& option : plugin.options) options.push_back(option.name);
    EXPECT_THAT(first_column(section_of(plugin).rows), ElementsAreArray(options)) << plugin.name;
  }
}

TEST_P(PluginsPage, TypesRangesAndChoicesAreThoseOfTheNote) {
  for (const PluginInfo& plugin : plugins())
    for (const Row& row : section_of(plugin).rows) {
      SCOPED_TRACE(plugin.name + "." + row.at(0));
      const OptionInfo* option = plugin.option(code_of(row.at(0)));
      ASSERT_NE(option, nullptr);
      EXPECT_THAT(row.at(1), StartsWith(type_name(*option)));
      EXPECT_THAT(row.at(1), HasSubstr(range_of(*option)));
      for (const std::string& choice : option->choices) EXPECT_THAT(row.at(1), HasSubstr("\"" + choice + "\""));
    }
}

// Such an option could be set by a test alone: in a manifest its key means something else.
TEST_P(PluginsPage, NoOptionHasAReservedName) {
  for (const PluginInfo& plugin : plugins())
    for (const std::string& key : reserved_keys(GetParam().table))
      EXPECT_EQ(plugin.option(key), nullptr) << plugin.name << "." << key;
}

TEST_P(PluginsPage, DefaultsAreThoseOfTheNote) {
  for (const PluginInfo& plugin : plugins())
    for (const Row& row : section_of(plugin).rows) {
      SCOPED_TRACE(plugin.name + "." + row.at(0));
      const OptionInfo* option = plugin.option(code_of(row.at(0)));
      ASSERT_NE(option, nullptr);
      if (option->default_value) {
        const auto text = [](const auto& value) { return toml(value); };
        EXPECT_EQ(row.at(2), "`" + std::visit(text, *option->default_value) + "`");
      } else {
        EXPECT_THAT(row.at(2), StartsWith(option->required ? "required" : "not set"));
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, PluginsPage,
                         ::testing::Values(KindOfPage{PluginKind::kHook, PluginTable::kHook, "hooks"},
                                           KindOfPage{PluginKind::kInitFn, PluginTable::kInitFn, "init_fns"},
                                           KindOfPage{PluginKind::kSaver, PluginTable::kSaver, "savers"}),
                         [](const auto& test) { return std::string(test.param.page); });

}  // namespace
}  // namespace belay::runtime
