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
  return learned_ == nullptr ? std::vector<std::string>() : class_names_of(learned_->components);
}

}  // namespace belay::runtime
