// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/model_schema.h"

#include <algorithm>

#include "runtime/checkpoint/names.h"
#include "runtime/platform/text.h"

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

void ModelSchema::read(const CheckpointPlace& place, const CheckpointChoice& choice) {
  const StoredSchema stored = read_schema(place, choice);
  learned_ = parsed(stored.text, stored.path);
  if (learned_ == nullptr && !stored.path.empty() && stored.path != place.run_directory)
    place.log.warning("", escaped(stored.path) + " does not say which columns and classes its training had: inputs " +
                              "are compared by type and shape, and not by name");
}

void ModelSchema::read_earlier(const CheckpointPlace& place) {
  const StoredSchema stored = read_schema(place, {});
  if (stored.path != place.run_directory) read(place, {});
}

SchemaOptions ModelSchema::options(InputUse use, const ResolvedPlugin& input) const {
  return {use, learned_, input.other_than_training, input.learned_options};
}

std::optional<TrainedOptions> ModelSchema::trained_options() const {
  if (learned_ == nullptr) return std::nullopt;
  return TrainedOptions{learned_->plugin, learned_->options};
}

std::string ModelSchema::text() const { return learned_ == nullptr ? "" : format_schema(*learned_); }

std::vector<DeclaredLabel> ModelSchema::labels() const {
  return learned_ == nullptr ? std::vector<DeclaredLabel>() : declared_labels(learned_->components);
}

std::vector<std::string> ModelSchema::class_names() const {
  std::vector<std::string> names;
  if (labels().size() != 1) return names;
  for (const InputComponent& c : learned_->components)
    if (c.label && !is_only_an_id(learned_->components, c)) names = c.class_names;
  return names;
}

namespace {

std::string words_of(const std::vector<std::string>& words, bool numbered) {
  constexpr std::size_t kShown = 20;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(words.size(), kShown); ++i)
    shown.push_back((numbered ? std::to_string(i) + " " : "") + double_quoted(words[i]));
  return joined(shown) + (words.size() > kShown ? " and " + std::to_string(words.size() - kShown) + " more" : "");
}

}  // namespace

std::vector<std::string> schema_lines(const Schema& schema) {
  std::vector<std::string> lines;
  for (const InputComponent& c : schema.components) {
    const std::string name = (c.label ? "label " : "feature ") + double_quoted(c.name);
    if (!c.columns.empty()) lines.push_back("columns of " + name + ": " + words_of(c.columns, false));
    if (!c.class_names.empty()) lines.push_back("classes of " + name + ": " + words_of(c.class_names, true));
  }
  return lines;
}

}  // namespace belay::runtime
