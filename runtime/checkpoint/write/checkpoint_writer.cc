// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/write/checkpoint_writer.h"

#include <fmt/core.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "belay/state_digest.h"
#include "runtime/checkpoint/format/index.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_data.h"
#include "runtime/checkpoint/format/tensor_bytes.h"
#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/checkpoint/read/read_tensors.h"
#include "runtime/checkpoint/read/run_state.h"
#include "runtime/checkpoint/read/saver_directory.h"
#include "runtime/checkpoint/write/pinned.h"
#include "runtime/checkpoint/write/unfinished_directory.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// A replaced entry must be a checkpoint, whole or not. Nothing of the user's is renamed or removed.
void refuse_foreign(const OpenDirectory& run, const std::string& name) {
  if (!run.exists(name)) return;
  const bool is_checkpoint =
      run.status(name).kind == FileKind::kDirectory && run.open_directory(name)->exists(kIndexName);
  if (!is_checkpoint)
    fail(Code::kAlreadyExists, fmt::format("[B4028] {} exists and is no checkpoint (it has no index); move it away",
                                           single_quoted(run.path() + "/" + name)));
}

[[noreturn]] void fail_non_finite(const NamedTensor& v, std::uint64_t at) {
  fail(Code::kDiverged, fmt::format("[B4021] variable {} is not finite: element {} of {} is {}", single_quoted(v.name),
                                    at, dims_text(v.tensor.dims, v.tensor.rank), TensorView(v.tensor).number(at)));
}

void check_storable(const CheckpointContent& content) {
  if (content.global_step < 0)
    fail(Code::kInvalidArgument,
         fmt::format("[B4030] the global step is {}; it must not be negative", content.global_step));
  std::set<std::string_view> names;
  for (const NamedTensor& v : content.variables) {
    const auto dtype = static_cast<DType>(v.tensor.dtype);
    if (dtype == DType::kString)
      fail(Code::kUnimplemented,
           fmt::format("[B4008] variable {} is of type string; a checkpoint holds numbers", single_quoted(v.name)));
    if (!byte_size(dtype, v.tensor.dims, v.tensor.rank))
      fail(Code::kInvalidArgument, fmt::format("[B4030] variable {} has no size: {} {}", single_quoted(v.name),
                                               dtype_name(dtype), dims_text(v.tensor.dims, v.tensor.rank)));
    if (v.name.empty() || !names.insert(v.name).second)
      fail(Code::kInvalidArgument,
           v.name.empty() ? "[B4030] a variable has no name"
                          : fmt::format("[B4030] two variables have the same name: {}", single_quoted(v.name)));
  }
}

// Reads every element once.
CheckpointIndex describe(const CheckpointContent& content, const SaverUse& saver, const CheckpointSettings& settings) {
  CheckpointIndex index{saver.name, saver.version, content.graph_hash, content.global_step, {}, {}};
  index.tensors.reserve(content.variables.size());
  for (const NamedTensor& v : content.variables) {
    const TensorView view(v.tensor);
    const TensorDigest found = digest(v.tensor);
    if (settings.refuse_non_finite && found.non_finite) fail_non_finite(v, *found.non_finite);
    index.tensors.push_back({{v.name, view.dtype(), view.dims()}, found.crc});
  }
  return index;
}

std::string digest_of(const std::vector<NamedTensor>& variables) {
  StateDigest digest;
  for (const NamedTensor& v : variables) digest.add(v.name, TensorView(v.tensor));
  return digest.text();
}

// If a saver writes into the variables that it reads, it saves something else than the training's.
void check_unchanged(const std::vector<NamedTensor>& variables, const std::vector<TensorEntry>& before) {
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const TensorView now(variables[i].tensor);
    if (crc32c(now.data(), now.bytes()) != before[i].crc32c)
      fail(Code::kInternal,
           fmt::format(
               "[B4031] it changed variable {} while it wrote it; a saver gets the variables to read, not to write",
               single_quoted(variables[i].name)));
  }
}

std::vector<FileEntry> call_saver(OpenDirectory& directory, const std::vector<NamedTensor>& variables,
                                  const CheckpointIndex& index, const SaverUse& saver) {
  SaverDirectory files = SaverDirectory::for_writing(directory);
  TensorsToWrite tensors(variables);
  call_write(saver, files.handle(), tensors.handle());
  try {
    check_unchanged(variables, index.tensors);
    std::vector<FileEntry> written = files.written();
    check_left(directory, written);
    return written;
  } catch (const Error& e) {
    fail(e.code(), "saver " + single_quoted(saver.name) + ": " + std::string(e.message()));
  }
}

// The index has the checksums of the variables that the saver got.
void read_back(std::unique_ptr<OpenDirectory> written, const SaverUse& saver) {
  try {
    const auto checkpoint = CheckpointReader::open(std::move(written));
    read_tensors(*checkpoint, saver, checkpoint->tensors(), [](const NamedTensor&) {});
  } catch (const Error& e) {
    const CodedMessage cause = take_code(e.message());
    fail(e.code(),
         fmt::format(
             "[B4024] saver {} did not read back what it was given to write, so nothing could be restored from it: {}",
             single_quoted(saver.name), cause.code == "B4024" ? cause.text : std::string(e.message())));
  }
}

FileEntry write_file(OpenDirectory& directory, std::string_view name, std::string_view text) {
  const std::unique_ptr<OpenFile> file = directory.create(name);
  file->write(text.data(), text.size());
  file->sync();
  file->close();
  return {std::string(name), text.size(), crc32c(text)};
}

}  // namespace

std::string write_checkpoint(OpenDirectory& run, const CheckpointContent& content, const SaverUse& saver, Logger& log,
                             const CheckpointSettings& settings, const HowToWrite& how) {
  std::string name = checkpoint_name(content.global_step, settings.basename);
  try {
    check_storable(content);
    CheckpointIndex index = describe(content, saver, settings);
    const std::string state = format_run_state(content, digest_of(content.variables));
    parse_run_state(state);  // a state that could not be read back is not written

    refuse_foreign(run, name);
    const std::string temporary = temporary_name(name);
    UnfinishedDirectory unfinished(run, name, temporary, log);
    OpenDirectory& directory = unfinished.directory();
    index.files = call_saver(directory, content.variables, index, saver);
    if (has_tensors(content)) index.files.push_back(write_state_data(directory, content));
    if (!content.manifest.empty()) index.files.push_back(write_file(directory, kManifestName, content.manifest));
    if (!content.schema.empty()) index.files.push_back(write_file(directory, kSchemaName, content.schema));
    index.files.push_back(write_file(directory, kStateName, state));
    const std::string text = format_index(index);
    parse_index(text);
    write_file(directory, kIndexName, text);
    if (how.read_back) read_back(run.open_directory(temporary), saver);
    if (how.pinned || is_pinned(run, name))
      pin(directory);  // also if the replaced one was pinned, since that step stays
    unfinished.place(replaced_name(name));
  } catch (const Error& e) {
    fail(e.code(), fmt::format("[B4002] cannot save {}: {}", single_quoted(run.path() + "/" + name), e.message()));
  }
  return name;
}

}  // namespace belay::runtime
