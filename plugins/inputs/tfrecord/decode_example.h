// SPDX-License-Identifier: Apache-2.0
// One record of a TFRecord file as the values that a manifest asks for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "feature_spec.h"

namespace tfrecord_input {

// Where a feature of one example goes.
struct FeatureTarget {
  void* numbers = nullptr;       // FeatureSpec::elements of the dtype
  std::string* texts = nullptr;  // the same for strings
};

// targets[i] belongs to specs[i]. DATA_LOSS or INVALID_ARGUMENT naming the feature, without the record's place, where
// the record is no tf.train.Example, or has a feature of another kind or length, or lacks one that has no default.
// Features that are not in `specs` are not looked into.
void decode_example(std::string_view record, const std::vector<FeatureSpec>& specs,
                    const std::vector<FeatureTarget>& targets);

// Whether the record is a tf.train.Example that has a value for the feature.
bool has_feature(std::string_view record, const std::string& name);

}  // namespace tfrecord_input
