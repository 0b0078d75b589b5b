// SPDX-License-Identifier: Apache-2.0
// The tensors that a saver writes from or reads into: the service "saver" of the host, during one write or read.
// [session]
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "belay/abi.h"
#include "runtime/checkpoint/format/content.h"

namespace belay::runtime {

// Returns the table of the service "saver". It lives as long as the process.
const belay_saver_service* saver_service() noexcept;

// A saver for the engine: table, object, and the names for the index.
struct SaverUse {
  const belay_saver_api* table = nullptr;
  void* self = nullptr;
  std::string name;     // the plugin's
  std::string version;  // its library's
  // The calls, if the owner of the plugin's instance makes them. They have its guard against exceptions that escape,
  // and its name in errors, in crash reports and for the watchdog. Empty: table and self are called directly.
  std::function<void(belay_dir*, belay_tensors*)> write = nullptr, read = nullptr;
};

// Throw the saver's error, with its name.
void call_write(const SaverUse& saver, belay_dir* directory, belay_tensors* tensors);
void call_read(const SaverUse& saver, belay_dir* directory, belay_tensors* tensors);

class SaverTensors {
 public:
  SaverTensors() = default;
  SaverTensors(const SaverTensors&) = delete;
  SaverTensors& operator=(const SaverTensors&) = delete;
  virtual ~SaverTensors() = default;
  belay_tensors* handle() noexcept { return reinterpret_cast<belay_tensors*>(this); }

  virtual std::uint64_t count() const = 0;
  virtual const NamedTensor& get(std::uint64_t i) const = 0;
  virtual void* found(TensorInfo tensor) = 0;
  // Checks in the saver's call: a write outside of a tensor is an error of the call.
  virtual void check_guards() const {}
};
void check_guards(belay_tensors* tensors);

class TensorsToWrite final : public SaverTensors {
 public:
  // `tensors` must outlive the object.
  explicit TensorsToWrite(const std::vector<NamedTensor>& tensors) : tensors_(tensors) {}
  std::uint64_t count() const override { return tensors_.size(); }
  const NamedTensor& get(std::uint64_t i) const override;
  void* found(TensorInfo tensor) override;
  void check_guards() const override;

 private:
  const std::vector<NamedTensor>& tensors_;
};

// Provides memory for the wanted tensors, and lists all.
class TensorsToRead final : public SaverTensors {
 public:
  // `wanted` is by name. Each is in the caller's memory, with the dtype and shape that the saver must find. The map
  // must outlive the object.
  explicit TensorsToRead(const std::map<std::string, NamedTensor, std::less<>>& wanted) : wanted_(wanted) {}
  std::uint64_t count() const override { return 0; }
  const NamedTensor& get(std::uint64_t i) const override;
  void* found(TensorInfo tensor) override;
  void check_guards() const override;
  // The tensors that the saver announced, by name.
  const std::map<std::string, TensorInfo, std::less<>>& all() const noexcept { return all_; }

 private:
  const std::map<std::string, NamedTensor, std::less<>>& wanted_;
  std::map<std::string, TensorInfo, std::less<>> all_;
};

}  // namespace belay::runtime
