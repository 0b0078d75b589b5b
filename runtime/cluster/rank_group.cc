// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/rank_group.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "runtime/platform/threads/activity.h"

namespace belay::runtime {
namespace {

using Api = belay_cluster_api;

belay_collective call_from(int peer) {
  auto call = detail::sized<belay_collective>();
  call.peer = peer;
  return call;
}

constexpr std::int64_t kLongestText = std::int64_t{1} << 32;  // a longer string from another rank is refused

std::int64_t nanoseconds_of(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

// A tensor over the caller's memory, for one call.
template <class T>
class ListTensor {
 public:
  ListTensor(DType dtype, T* data, std::size_t n)
      : dim_(static_cast<std::int64_t>(n)), raw_(detail::raw_tensor(dtype, 1, &dim_, data, n * sizeof(T))) {}
  ListTensor(const ListTensor&) = delete;
  ListTensor& operator=(const ListTensor&) = delete;
  const belay_tensor* get() const noexcept { return &raw_; }

 private:
  std::int64_t dim_;
  belay_tensor raw_;
};

void check_place(const belay_cluster_place& place, std::int64_t generation) {
  if (place.generation != generation)
    fail(Code::kInvalidArgument, fmt::format("[B5105] it returned generation = {}, and was opened for generation {}",
                                             place.generation, generation));
  if (place.local_rank < 0 || place.local_rank >= std::max(place.size, 1))
    fail(Code::kInvalidArgument, fmt::format("[B5105] it returned local_rank = {} of {} processes; 0: it is not known",
                                             place.local_rank, place.size));
}

// Checks a length from another rank before that much memory is allocated.
void check_length(std::int64_t bytes) {
  if (bytes < 0 || bytes > kLongestText)
    fail(Code::kDataLoss, fmt::format("[B5105] it returned {} as the length of a text, which cannot be", bytes));
}

}  // namespace

void RankGroup::open(const Meeting& meeting) {
  auto args = detail::sized<belay_cluster_args>();
  args.rank = meeting.rank;
  args.size = args.min_size = meeting.size;
  args.local_rank = meeting.local_rank;
  args.generation = meeting.generation;
  args.wait_ns = nanoseconds_of(meeting.wait_secs);
  args.timeout_ns = nanoseconds_of(meeting.timeout_secs);
  args.directory = detail::str(meeting.directory);
  args.meeting = detail::str(meeting.name);
  auto place = detail::sized<belay_cluster_place>();
  const auto take = [&] {
    open_ = true;
    check_place(place, meeting.generation);
  };
  try {
    cluster_.call_and_take("open", &Api::open, take, static_cast<const belay_cluster_args*>(&args), &place);
  } catch (...) {
    close();
    throw;
  }
  place_ = {place.rank, place.size, place.local_rank, meeting.generation};
  if (rank() == meeting.rank && size() == meeting.size) return;
  close();
  fail(Code::kInvalidArgument, fmt::format("[B5105] {} is rank {} of {}, and was started as rank {} of {}",
                                           cluster_.label(), place.rank, place.size, meeting.rank, meeting.size));
}

void RankGroup::close() noexcept {
  if (!std::exchange(open_, false)) return;
  if (cluster_.poisoned()) return;
  try {
    cluster_.call("close", &Api::close);
  } catch (const Error& e) {
    cluster_.warn(e.what());
  }
}

void RankGroup::broadcast(const TensorView& tensor, int from) {
  if (tensor.bytes() == 0) return;
  const Doing doing(Activity::kOtherRanks);
  const belay_collective call = call_from(from);
  cluster_.call("broadcast", &Api::broadcast, &call, &tensor.raw());
}

std::string RankGroup::broadcast(std::string text, int from) {
  auto size = static_cast<std::int64_t>(text.size());
  const Doing doing(Activity::kOtherRanks);
  const belay_collective call = call_from(from);
  const ListTensor<std::int64_t> length(DType::kInt64, &size, 1);
  const auto take = [&] { check_length(size); };
  cluster_.call_and_take("broadcast", &Api::broadcast, take, &call, length.get());
  text.resize(static_cast<std::size_t>(size));
  if (text.empty()) return text;
  const ListTensor<char> bytes(DType::kUInt8, text.data(), text.size());
  cluster_.call("broadcast", &Api::broadcast, &call, bytes.get());
  return text;
}

void RankGroup::all_reduce(const TensorView& tensor, DType wire, std::uint32_t tag) {
  const Doing doing(Activity::kOtherRanks);
  belay_collective call = call_from(0);
  call.tag = tag;
  call.wire_dtype = static_cast<std::int32_t>(wire);
  cluster_.call("all_reduce", &Api::all_reduce, static_cast<const belay_collective*>(&call), &tensor.raw());
}

void RankGroup::all_gather(const TensorView& mine, const TensorView& all, std::uint32_t tag) {
  const Doing doing(Activity::kOtherRanks);
  belay_collective call = call_from(0);
  call.tag = tag;
  cluster_.call("all_gather", &Api::all_gather, static_cast<const belay_collective*>(&call), &mine.raw(), &all.raw());
}

std::vector<std::int64_t> RankGroup::all_gather(const std::vector<std::int64_t>& mine) {
  std::vector<std::int64_t> own = mine, all(mine.size() * static_cast<std::size_t>(size()));
  const ListTensor<std::int64_t> from(DType::kInt64, own.data(), own.size());
  const ListTensor<std::int64_t> into(DType::kInt64, all.data(), all.size());
  const Doing doing(Activity::kOtherRanks);
  const belay_collective call = call_from(0);
  const auto begin = static_cast<std::size_t>(rank()) * mine.size();
  const auto take = [&] {
    if (!std::equal(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(begin)))
      fail(Code::kDataLoss, "[B5105] it returned other numbers in this rank's part than this rank gave");
  };
  cluster_.call_and_take("all_gather", &Api::all_gather, take, &call, from.get(), into.get());
  return all;
}

std::vector<std::string> RankGroup::gather_texts(const std::string& mine) {
  const std::vector<std::int64_t> sizes = all_gather(std::vector<std::int64_t>{static_cast<std::int64_t>(mine.size())});
  for (const std::int64_t bytes : sizes) {
    try {
      check_length(bytes);
    } catch (const Error& e) {
      cluster_.refuse("all_gather", e);
    }
  }
  const auto longest = static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()));
  std::vector<std::string> all(static_cast<std::size_t>(size()));
  if (longest == 0) return all;
  std::string own = mine, parts(longest * all.size(), '\0');
  own.resize(longest);
  const ListTensor<char> from(DType::kUInt8, own.data(), own.size());
  const ListTensor<char> into(DType::kUInt8, parts.data(), parts.size());
  const Doing doing(Activity::kOtherRanks);
  const belay_collective call = call_from(0);
  cluster_.call("all_gather", &Api::all_gather, &call, from.get(), into.get());
  for (std::size_t r = 0; r < all.size(); ++r) all[r] = parts.substr(r * longest, static_cast<std::size_t>(sizes[r]));
  return all;
}

}  // namespace belay::runtime
