// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of this plugin: tensors to write, and checkpoints made by hand.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/testing/error_of.h"
#include "belay/testing/saver_driver.h"
#include "crc32c.h"
#include "index_table.h"
#include "plugins/savers/saver_test.h"
#include "plugins/savers/tf_bundle/bundle.pb.h"
#include "slice_key.h"

extern "C" const belay_module belay_module_tf_bundle;

namespace tf_bundle {

using belay::Dims;
using belay::DType;
using belay::testing::error_of;
using belay::testing::NamedTensors;
using belay::testing::SaverDriver;
using saver_test::of_type;
using saver_test::samples;
namespace pb = belay::tf_bundle;

inline const belay_module& bundle_module() { return belay::testing::module_under_test(belay_module_tf_bundle); }

inline constexpr const char* kIndex = "model.index";
inline constexpr const char* kData = "model.data-00000-of-00001";

inline belay::Tensor of_strings(const Dims& dims, const std::vector<std::string>& texts) {
  belay::Tensor t(DType::kString, dims);
  for (std::size_t i = 0; i < texts.size(); ++i) t.set_text(i, texts[i]);
  return t;
}

// A bundle also has strings.
inline NamedTensors one_of_each() {
  NamedTensors tensors = saver_test::one_of_each();
  tensors.emplace_back("words", of_strings({2, 2}, {"", "hello", std::string("\0\xff", 2), std::string(300, 'x')}));
  tensors.emplace_back("no words", of_strings({0}, {}));
  tensors.emplace_back("a word", of_strings({}, {"abc"}));
  return tensors;
}

// ---- by hand ----

inline pb::Entry entry_of(DType dtype, const Dims& dims, std::int32_t shard, std::int64_t offset,
                          std::string_view data) {
  pb::Entry entry;
  entry.set_dtype(static_cast<std::int32_t>(dtype));
  entry.mutable_shape();
  for (const std::int64_t d : dims) entry.mutable_shape()->add_dim()->set_size(d);
  entry.set_shard_id(shard);
  entry.set_offset(offset);
  entry.set_size(static_cast<std::int64_t>(data.size()));
  entry.set_crc32c(masked(crc32c(data.data(), data.size())));
  return entry;
}

inline std::pair<std::string, std::string> header_record(int shards = 1, int endianness = 0) {
  pb::Header header;
  header.set_num_shards(shards);
  if (endianness != 0) header.set_endianness(endianness);
  header.mutable_version()->set_producer(1);
  return {"", header.SerializeAsString()};
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace tf_bundle
