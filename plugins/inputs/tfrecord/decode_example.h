// SPDX-License-Identifier: Apache-2.0
// Decodes one record of a TFRecord file into the features of the manifest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "feature_spec.h"

namespace tfrecord_input {

// The destination of one example's feature.
struct FeatureTarget {
  void* numbers = nullptr;       // FeatureSpec::elements numbers of the dtype
  std::string* texts = nullptr;  // the same number of strings
};

// targets[i] belongs to specs[i]. The message of an error names the feature, without the record's place. DATA_LOSS
// or INVALID_ARGUMENT: the record is no tf.train.Example, a feature has another kind or length, or one without a
// default is missing. Other features are not decoded.
void decode_example(std::string_view record, const std::vector<FeatureSpec>& specs,
                    const std::vector<FeatureTarget>& targets);

// True if the record is a tf.train.Example with a value for the feature.
bool has_feature(std::string_view record, const std::string& name);

}  // namespace tfrecord_input
