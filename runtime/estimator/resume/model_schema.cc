// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/resume/model_schema.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/checkpoint/format/names.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::shared_ptr<const Schema> parsed(const std::string& text, const std::string& path) {
  if (text.empty()) return nullptr;
  try {
    return std::make_shared<const Schema>(parse_schema(text));
  } catch (const Error& e) {
    fail(e.code(), single_quoted(path + "/" + std::string(kSchemaName)) + ": " + std::string(e.message()));
  }
}

}  // namespace

namespace {

enum class Takes { kNothing, kFeatures, kAll };

Takes taken_by(const PluginUse& use) {
  if (use.plugin != "warm_start") return Takes::kNothing;
  bool has_part = false, has_other_names = false;
  for (const PluginOption& option : use.options) {
    const std::string key = option.key.substr(0, option.key.find('.'));
    const auto* text = std::get_if<std::string>(&option.value);
    if (key == "schema" && text != nullptr && *text != "auto")
      return *text == "all" ? Takes::kAll : *text == "features" ? Takes::kFeatures : Takes::kNothing;
    has_part = has_part || key == "vars" || key == "except";
    has_other_names =
        has_other_names || key == "names" || key == "scopes" || key == "transpose" || key == "vocabularies";
  }
  return has_other_names ? Takes::kNothing : has_part ? Takes::kFeatures : Takes::kAll;
}

}  // namespace

bool takes_schema(const PluginUse& init_fn) { return taken_by(init_fn) != Takes::kNothing; }

void ModelSchema::read_start(const CheckpointPlace& place, const PluginUse& use, const std::string& from) {
  const Takes takes = taken_by(use);
  if (takes == Takes::kNothing) return;
  const StoredSchema stored = read_schema(place, {.kind = CheckpointChoice::Kind::kPath, .path = from});
  const std::shared_ptr<const Schema> found = parsed(stored.text, stored.path);
  if (found == nullptr) return;
  const bool all = takes == Takes::kAll;
  learned_ = all ? found : std::make_shared<const Schema>(features_of(*found));
  start_ = &use;
  place.log.info("", "columns and scales" + std::string(all ? ", classes too," : "") + " are those of " +
                         escaped(stored.path) + ", from which the model's values come");
}

void ModelSchema::read(const CheckpointPlace& place, const CheckpointChoice& choice) {
  const StoredSchema stored = read_schema(place, choice);
  learned_ = parsed(stored.text, stored.path);
  const bool of_checkpoint = !stored.path.empty() && stored.path != place.run_directory;
  was_read_ = was_read_ || learned_ != nullptr || of_checkpoint;
  if (learned_ == nullptr && of_checkpoint)
    place.log.warning("", escaped(stored.path) +
                              " does not record which columns and classes its training had: inputs " +
                              "are compared by type and shape, not by name, and each fits its own rows");
}

bool ModelSchema::read_other(const CheckpointPlace& place, const std::string& checkpoint) {
  const StoredSchema stored = read_schema(place, {.kind = CheckpointChoice::Kind::kPath, .path = checkpoint});
  const std::shared_ptr<const Schema> found = parsed(stored.text, stored.path);
  if (found == nullptr || format_schema(*found) == text()) return false;
  learned_ = found;
  return true;
}

void ModelSchema::read_earlier(const CheckpointPlace& place) {
  const StoredSchema stored = read_schema(place, {});
  if (stored.path != place.run_directory) read(place, {});
}

SchemaOptions ModelSchema::options(InputUse use, const ResolvedPlugin& input) const {
  std::set<std::string> said;
  for (const PluginOption& option : input.learned_options) said.insert(option.key);
  for (const PluginOption& option : input.inherited) said.erase(option.key);
  return {use, learned_, input.other_than_training, input.learned_options, std::move(said)};
}

std::optional<TrainedOptions> ModelSchema::trained_options(bool of_start) const {
  if (learned_ == nullptr) return std::nullopt;
  return TrainedOptions{learned_->plugin, learned_->options, of_start};
}

std::string ModelSchema::text() const { return learned_ == nullptr ? "" : format_schema(*learned_); }

std::vector<DeclaredLabel> ModelSchema::labels() const {
  return learned_ == nullptr ? std::vector<DeclaredLabel>() : declared_labels(*learned_);
}

std::vector<std::string> ModelSchema::class_names() const {
  return learned_ == nullptr ? std::vector<std::string>() : class_names_of(learned_->components);
}

}  // namespace belay::runtime
