// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/services/checkpoint_service.h"

#include <fmt/core.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/tensor_bytes.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "runtime/checkpoint/read/stored_place.h"
#include "runtime/loader/instance/host.h"
#include "runtime/monitored/saving/run_saver.h"
#include "runtime/platform/memory/checked_slot.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using detail::guard;
using detail::view;

const RunEnvironment& environment_of(belay_host* host) {
  return InstanceHost::from(host).services().context<RunEnvironment>();
}
RunSaver& saver_of(belay_host* host) {
  try {
    return InstanceHost::from(host).services().context<RunSaver>();
  } catch (const Error&) {
    fail(Code::kFailedPrecondition,
         "[B5087] there is no run directory to save into: give run.dir, or checkpoint_dir in a program");
  }
}

// Returns the saver that reads a checkpoint's files: the run's own, also in a run that saves nothing.
const SaverUse& reading_saver_of(belay_host* host) {
  const HostServices& services = InstanceHost::from(host).services();
  try {
    return services.context<SaverUse>();
  } catch (const Error&) {
    fail(Code::kFailedPrecondition, "[B5087] this program has no saver that could read a checkpoint");
  }
}

// Returns null if the program has none.
const OtherSavers* other_savers_of(belay_host* host) {
  try {
    return &InstanceHost::from(host).services().context<OtherSavers>();
  } catch (const Error&) {
    return nullptr;
  }
}

SaverUse other_saver(belay_host* host, const std::string& path, const std::string& name, const SaverUse& own) {
  const OtherSavers* others = other_savers_of(host);
  if (others == nullptr || name.empty() || name == own.name) return own;
  try {
    return others->find(name);
  } catch (const Error& e) {
    fail(e.code(),
         single_quoted(path) + " was written by the saver " + single_quoted(name) + ": " + std::string(e.message()));
  }
}

// Returns true for a checkpoint of another program: a file, or TensorFlow's prefix, which is the path without ".index".
bool is_foreign(FileSystem& files, const std::string& path) {
  if (!files.exists(path)) return files.exists(path + ".index");
  return files.status(path).kind != FileKind::kDirectory && path_parts(path).name != kBestName;
}

// Opens it with the saver that wrote it, by the checkpoint's index. Without an index the file's name and content
// decide, and then the run's saver.
std::unique_ptr<OpenCheckpoint> opened(belay_host* host, const std::string& path) {
  const RunEnvironment& environment = environment_of(host);
  const SaverUse& own = reading_saver_of(host);
  auto made = std::make_unique<OpenCheckpoint>();
  if (is_foreign(environment.files, path)) {
    const StoredPlace place = find_stored(environment.files, path, environment.log);
    made->saver = other_saver(host, path, place.saver, own);
    made->stored = open_stored_tensors(environment.files, place.path, made->saver, environment.log);
  } else {
    made->stored = open_stored_tensors(environment.files, path, own, environment.log);
    const auto* checkpoint = dynamic_cast<const CheckpointReader*>(made->stored.get());
    made->saver = checkpoint == nullptr ? own : other_saver(host, made->stored->path(), checkpoint->index().saver, own);
  }
  made->tensors = made->stored->tensors();
  return made;
}

std::int32_t save(belay_host* host, belay_status* status) {
  return guard(status, [&] { saver_of(host).save_requested_by_hook(); });
}

std::int32_t latest(belay_host* host, belay_str directory, belay_str* path, belay_status* status) {
  return guard(status, [&] {
    thread_local std::string text;
    const RunEnvironment& environment = environment_of(host);
    const std::string name(view(directory));
    text = environment.files.exists(name) ? latest_checkpoint(*environment.files.open_directory(name), environment.log)
                                          : "";
    if (text.empty()) fail(Code::kNotFound, "[B4025] there is no checkpoint in '" + escaped(name) + "'");
    *path = detail::str(text);
  });
}

std::int32_t open(belay_host* host, belay_str path, belay_checkpoint** checkpoint, belay_status* status) {
  return guard(status, [&] { *checkpoint = to_handle(opened(host, std::string(view(path))).release()); });
}

std::uint64_t count(belay_checkpoint* c) { return from_handle(c).tensors.size(); }

const TensorInfo& tensor_of(OpenCheckpoint& c, std::uint64_t i) {
  if (i >= c.tensors.size()) fail(Code::kInvalidArgument, fmt::format("[B4022] the checkpoint has no tensor {}", i));
  return c.tensors[i];
}

std::int32_t info(belay_checkpoint* c, std::uint64_t i, belay_str* name, belay_tensor* tensor, belay_status* status) {
  return guard(status, [&] {
    const TensorInfo& t = tensor_of(from_handle(c), i);
    *name = detail::str(t.name);
    *tensor = detail::described(t.dtype, static_cast<std::int32_t>(t.dims.size()), t.dims.data());
  });
}

// Returns the tensors from number i on that are small and readable. The result is empty if tensor i is not.
std::vector<TensorInfo> small_ones_from(const std::vector<TensorInfo>& tensors, std::size_t i) {
  constexpr std::uint64_t kSmall = std::uint64_t{64} << 10, kMost = std::uint64_t{16} << 20;
  std::vector<TensorInfo> found;
  for (std::uint64_t bytes = 0; i < tensors.size() && is_readable(tensors[i]); ++i) {
    const std::uint64_t size = *byte_size(tensors[i].dtype, tensors[i].dims);
    bytes += size;
    if (size > kSmall || bytes > kMost) break;
    found.push_back(tensors[i]);
  }
  return found;
}

// Returns tensor i from memory, read with some that follow it. Null: it is read alone. A fault of a tensor that was not
// requested is not reported.
const NamedTensor* read_ahead(OpenCheckpoint& c, std::size_t i) {
  const auto there = [&] { return i - c.ahead_begins < c.ahead->tensors().size(); };
  if (c.ahead == nullptr || !there()) {
    const std::vector<TensorInfo> small = small_ones_from(c.tensors, i);
    if (small.size() < 2) return nullptr;
    auto memory = std::make_unique<TensorMemory>(small);
    try {
      c.stored->read(c.saver, memory->tensors());
    } catch (const Error&) {
      return nullptr;
    }
    c.ahead = std::move(memory);
    c.ahead_begins = i;
  }
  return &c.ahead->tensors()[i - c.ahead_begins];
}

std::int32_t read(belay_checkpoint* c, std::uint64_t i, void* data, std::uint64_t bytes, belay_status* status) {
  return guard(status, [&] {
    OpenCheckpoint& checkpoint = from_handle(c);
    const TensorInfo& t = tensor_of(checkpoint, i);
    const belay_tensor target =
        detail::raw_tensor(t.dtype, static_cast<std::int32_t>(t.dims.size()), t.dims.data(), data, bytes);
    if (TensorView(target).bytes() != bytes)
      fail(Code::kInvalidArgument,
           fmt::format("[B4023] tensor '{}' has {} bytes, the buffer {}", t.name, TensorView(target).bytes(), bytes));
    if (const NamedTensor* there = read_ahead(checkpoint, static_cast<std::size_t>(i))) {
      if (bytes != 0) std::memcpy(data, there->tensor.data, static_cast<std::size_t>(bytes));
      return;
    }
    checkpoint.stored->read(checkpoint.saver, {{t.name, target}});
  });
}

void close(belay_checkpoint* c) { delete &from_handle(c); }

constexpr belay_checkpoint_api kCheckpointApi{sizeof(belay_checkpoint_api),
                                              0,
                                              checked<save, detail::name_of_checkpoint_save>,
                                              checked<latest, detail::name_of_checkpoint_latest>,
                                              checked<open, detail::name_of_checkpoint_open>,
                                              checked<count, detail::name_of_checkpoint_count>,
                                              checked<info, detail::name_of_checkpoint_info>,
                                              checked<read, detail::name_of_checkpoint_read>,
                                              checked<close, detail::name_of_checkpoint_close>};

}  // namespace

const belay_checkpoint_api* checkpoint_service() noexcept { return &kCheckpointApi; }

}  // namespace belay::runtime
