// SPDX-License-Identifier: Apache-2.0
// Makes TFRecord files for tests.
#pragma once

#include <isa-l/crc.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plugins/inputs/gzip_test.h"
#include "plugins/inputs/tfrecord/example.pb.h"

namespace tfrecord_input {

using input_test::gzipped;

inline std::string bytes_of(std::uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> 8 * i));
  return bytes;
}

inline std::string masked_checksum(std::string text) {
  const std::uint32_t crc =
      ~crc32_iscsi(reinterpret_cast<unsigned char*>(text.data()), static_cast<int>(text.size()), 0xffffffff);
  return bytes_of(static_cast<std::uint32_t>((crc >> 15 | crc << 17) + 0xa282ead8), 4);
}

inline std::string framed(const std::string& record) {
  const std::string length = bytes_of(record.size(), 8);
  return length + masked_checksum(length) + record + masked_checksum(record);
}

inline std::string framed_all(const std::vector<std::string>& records) {
  std::string all;
  for (const std::string& record : records) all += framed(record);
  return all;
}

// Builds a tf.train.Example.
class ExampleBuilder {
 public:
  ExampleBuilder& floats(const std::string& name, const std::vector<float>& values) {
    auto& list = *feature(name).mutable_float_list()->mutable_value();
    list.Assign(values.begin(), values.end());
    return *this;
  }
  ExampleBuilder& ints(const std::string& name, const std::vector<std::int64_t>& values) {
    auto& list = *feature(name).mutable_int64_list()->mutable_value();
    list.Assign(values.begin(), values.end());
    return *this;
  }
  ExampleBuilder& texts(const std::string& name, const std::vector<std::string>& values) {
    auto& list = *feature(name).mutable_bytes_list()->mutable_value();
    for (const std::string& value : values) *list.Add() = value;
    return *this;
  }
  ExampleBuilder& unset(const std::string& name) {
    feature(name);
    return *this;
  }
  std::string bytes() const { return example_.SerializeAsString(); }

 private:
  belay::tfrecord::Feature& feature(const std::string& name) {
    return (*example_.mutable_features()->mutable_feature())[name];
  }
  belay::tfrecord::Example example_;
};

}  // namespace tfrecord_input
