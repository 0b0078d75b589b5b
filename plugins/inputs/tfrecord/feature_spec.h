// SPDX-License-Identifier: Apache-2.0
// The manifest's features of a tf.train.Example:
//
//   [input.train.features]
//   image = { dtype = "uint8", shape = [28, 28] }
//   weight = { dtype = "float32", default = 1.0 }
#pragma once

#include <belay/options.h>
#include <belay/tensor.h>

#include <optional>
#include <string>
#include <vector>

namespace tfrecord_input {

struct FeatureSpec {
  std::string name;
  // float32 and int64 mean lists of such values, string a list of strings, uint8 the bytes of one string.
  belay::DType dtype = belay::DType::kInvalid;
  belay::Dims dims;  // of one example; empty: a single value
  std::size_t elements = 1;
  // The elements for an example that lacks the feature, as bytes or as strings.
  struct Default {
    std::vector<unsigned char> bytes;
    std::vector<std::string> texts;
  };
  std::optional<Default> fallback;
};

// Returns the elements of the default of a numeric feature.
std::vector<double> default_numbers(const FeatureSpec& spec);

// Returns the features in the order of the manifest. INVALID_ARGUMENT names the feature and the key.
std::vector<FeatureSpec> parse_feature_specs(const belay::Table& table);

}  // namespace tfrecord_input
