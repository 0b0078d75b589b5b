// SPDX-License-Identifier: Apache-2.0
// Implements manifest_keys and reserved_keys of parse.h.
#include <utility>

#include "runtime/manifest/parse.h"
#include "runtime/manifest/sections.h"

namespace belay::runtime {
namespace {

// Notes the names of the keys and their allowed values. A table's members form a separate section.
class ListFields final : public Fields {
 public:
  ListFields(std::string section, std::vector<SectionKeys>& all) : all_(all), index_(all.size()) {
    all_.push_back({std::move(section), {}});
  }

  void boolean(const char* key, bool&) override { add(key, {"true", "false"}); }
  void integer(const char* key, std::int64_t&, IntegerRange) override { add(key); }
  void number(const char* key, double&, NumberRange) override { add(key); }
  void integer(const char* key, std::optional<std::int64_t>&, IntegerRange, const char*) override { add(key); }
  void number(const char* key, std::optional<double>&, NumberRange, const char*) override { add(key); }
  void integers(const char* key, std::vector<std::int64_t>&, IntegerRange) override { add(key); }
  void numbers(const char* key, std::vector<double>&, NumberRange) override { add(key); }
  void word(const char* key, std::string&, const std::vector<std::string>& words) override { add(key, words); }
  void text(const char* key, std::string&, const char*) override { add(key); }
  void path(const char* key, std::string&, const char*) override { add(key); }
  void paths(const char* key, std::vector<std::string>&) override { add(key); }
  void names(const char* key, std::vector<std::string>&) override { add(key); }
  void number_or_table(const char* key, double&, NumberRange, bool&,
                       const std::function<void(Fields&)>& visit_members) override {
    add(key);
    ListFields members(all_[index_].section + "." + key, all_);
    visit_members(members);
  }
  void tables(const char* key, std::size_t size,
              const std::function<void(Fields&, std::size_t)>& visit_element) override {
    add(key);
    ListFields element(all_[index_].section + "." + key, all_);
    visit_element(element, size);
  }
  void options(std::vector<PluginOption>&) override {}
  void only_for(const char*, const char*, bool) override {}
  void check(bool, const char*, const std::string&, const std::string&) override {}

 private:
  void add(const char* key, const std::vector<std::string>& choices = {}) {
    all_[index_].keys.emplace_back(key);
    if (!choices.empty()) all_[index_].choices[key] = choices;
  }

  std::vector<SectionKeys>& all_;
  const std::size_t index_;
};

template <class Section>
void list(const char* name, std::vector<SectionKeys>& all) {
  Section section;
  ListFields fields(name, all);
  visit(fields, section);
}

}  // namespace

std::vector<SectionKeys> manifest_keys() {
  std::vector<SectionKeys> all;
  all.push_back({"",
                 {"run", "plugins", "input", "model", "optimizer", "scaffold", "checkpoint", "eval", "predict",
                  "session", "hooks", "metrics", "exporters", "ops", "cluster"}});
  list<RunSettings>("run", all);
  list<PluginsSection>("plugins", all);
  list<OptimizerSettings>("optimizer", all);
  all.push_back({"scaffold", scaffold_keys()});
  list<CheckpointSettings>("checkpoint", all);
  list<EvalSettings>("eval", all);
  list<PredictSettings>("predict", all);
  list<SessionSettings>("session", all);
  list<MetricSection>("metrics", all);
  return all;
}

std::vector<std::string> reserved_keys(PluginTable table) {
  std::vector<SectionKeys> all;
  ListFields fields("", all);
  visit_reserved(fields, table);
  return all[0].keys;
}

}  // namespace belay::runtime
