// SPDX-License-Identifier: Apache-2.0
#include "group.h"

#include <Eigen/Core>
#include <algorithm>
#include <climits>
#include <cstring>
#include <thread>
#include <vector>

namespace belay_mpi {
namespace {

using belay::Code;
using belay::Collective;
using belay::DType;
using belay::fail;
using belay::TensorView;
using Clock = std::chrono::steady_clock;

// Two MPI tags for each tag: one for its messages, one for the check that all ranks are at its first call.
int message_tag(std::uint32_t tag) { return static_cast<int>(2 * tag); }
int arrival_tag(std::uint32_t tag) { return static_cast<int>(2 * tag + 1); }

// MPI has no type for bfloat16.
extern "C" void belay_mpi_add_bfloat16(void* in, void* sum, int* count, MPI_Datatype*) {
  const auto* x = static_cast<const Eigen::bfloat16*>(in);
  auto* to = static_cast<Eigen::bfloat16*>(sum);
  for (int i = 0; i < *count; ++i) to[i] = Eigen::bfloat16(static_cast<float>(x[i]) + static_cast<float>(to[i]));
}
MPI_Op sum_of_bfloat16() {
  static const MPI_Op op = [] {
    MPI_Op made;
    check(MPI_Op_create(belay_mpi_add_bfloat16, 1, &made), "MPI_Op_create");
    return made;
  }();
  return op;
}

// The type with which MPI moves an element: only its size matters.
MPI_Datatype moved_as(DType dtype) {
  switch (belay::dtype_size(dtype)) {
    case 1: return MPI_BYTE;
    case 2: return MPI_UINT16_T;
    case 4: return MPI_UINT32_T;
    case 8: return MPI_UINT64_T;
    default: return MPI_C_DOUBLE_COMPLEX;
  }
}
int count_of(const TensorView& tensor) {
  if (tensor.size() > INT_MAX)
    fail(Code::kInvalidArgument, "a tensor of " + std::to_string(tensor.size()) + " elements; MPI moves at most " +
                                     std::to_string(INT_MAX) + " in a call");
  return static_cast<int>(tensor.size());
}

}  // namespace

Group::Group(MPI_Comm base, Stopped stopped) : base_(base), stopped_(std::move(stopped)) {
  check(MPI_Comm_rank(base_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(base_, &size_), "MPI_Comm_size");
}

Group::~Group() {
  if (given_up()) return;
  for (auto& [tag, ranks] : by_tag_) MPI_Comm_free(&ranks);
  MPI_Comm base = base_;
  MPI_Comm_free(&base);
}

// A short wait is busy, since a step waits for it. A longer one leaves the processor to others.
void Group::wait(const Collective& call, MPI_Request* requests, int count, const char* what) {
  const Clock::time_point begin = Clock::now();
  int done = 0;
  for (long turn = 0;; ++turn) {
    check(MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE), what);
    if (done) return;
    if (turn < 200) continue;
    const auto waited = Clock::now() - begin;
    try {
      stopped_();
      if (call.timeout().count() > 0 && waited > call.timeout())
        fail(Code::kAborted, "a rank did not call within the " +
                                 std::to_string(std::chrono::duration<double>(call.timeout()).count()) +
                                 " s of this call");
    } catch (...) {
      give_up();
      throw;
    }
    if (waited < std::chrono::milliseconds(2))
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

// A call that makes a communicator cannot be broken off. So it begins when each rank has come.
void Group::all_are_here(const Collective& call) {
  std::vector<MPI_Request> requests(2 * static_cast<std::size_t>(size_), MPI_REQUEST_NULL);
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    const std::size_t at = 2 * static_cast<std::size_t>(r);
    check(MPI_Irecv(nullptr, 0, MPI_BYTE, r, arrival_tag(call.tag()), base_, &requests[at]), "MPI_Irecv");
    check(MPI_Isend(nullptr, 0, MPI_BYTE, r, arrival_tag(call.tag()), base_, &requests[at + 1]), "MPI_Isend");
  }
  wait(call, requests.data(), static_cast<int>(requests.size()), "MPI_Testall");
}

MPI_Comm Group::of(const Collective& call) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_tag_.find(call.tag()); found != by_tag_.end()) return found->second;
  }
  all_are_here(call);
  MPI_Group all;
  MPI_Comm made;
  check(MPI_Comm_group(base_, &all), "MPI_Comm_group");
  check(MPI_Comm_create_group(base_, all, message_tag(call.tag()), &made), "MPI_Comm_create_group");
  check(MPI_Group_free(&all), "MPI_Group_free");
  check(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  const std::lock_guard lock(mutex_);
  by_tag_.emplace(call.tag(), made);
  return made;
}

void Group::barrier(const Collective& call) {
  if (size_ == 1) return;
  MPI_Request request;
  check(MPI_Ibarrier(of(call), &request), "MPI_Ibarrier");
  wait(call, &request, 1, "MPI_Ibarrier");
}

void Group::broadcast(const Collective& call, const TensorView& tensor) {
  if (size_ == 1 || tensor.bytes() == 0) return;
  MPI_Request request;
  void* data = rank_ == call.peer() ? const_cast<void*>(tensor.data()) : tensor.mutable_data();
  const int count = count_of(tensor);
  check(MPI_Ibcast(data, count, moved_as(tensor.dtype()), call.peer(), of(call), &request), "MPI_Ibcast");
  wait(call, &request, 1, "MPI_Ibcast");
}

// Sums in parts, each of which is done while its wait is still busy. MPI moves a long message only while it is asked.
// The pauses between two questions would take most of the time.
void Group::sum(const Collective& call, void* data, int count, MPI_Datatype type, MPI_Op op) {
  constexpr int kPart = 1 << 18;  // bytes
  int size = 0;
  check(MPI_Type_size(type, &size), "MPI_Type_size");
  auto* bytes = static_cast<char*>(data);
  for (int at = 0, n = 0; at < count; at += n) {
    n = std::min(count - at, kPart / size);
    MPI_Request request;
    check(MPI_Iallreduce(MPI_IN_PLACE, bytes + static_cast<std::ptrdiff_t>(at) * size, n, type, op, of(call), &request),
          "MPI_Iallreduce");
    wait(call, &request, 1, "MPI_Iallreduce");
  }
}

void Group::all_reduce(const Collective& call, const TensorView& tensor) {
  const int count = count_of(tensor);
  if (count == 0) return;
  const bool halved = call.wire() == DType::kBFloat16;
  if (size_ == 1 && !halved) return;
  void* data = tensor.mutable_data();
  MPI_Datatype type = tensor.dtype() == DType::kFloat32   ? MPI_FLOAT
                      : tensor.dtype() == DType::kFloat64 ? MPI_DOUBLE
                                                          : MPI_INT64_T;
  MPI_Op op = MPI_SUM;
  std::vector<Eigen::bfloat16> halves;
  if (halved) {
    const auto* values = static_cast<const float*>(data);
    halves.resize(tensor.size());
    std::transform(values, values + halves.size(), halves.begin(), [](float x) { return Eigen::bfloat16(x); });
    data = halves.data(), type = MPI_UINT16_T, op = sum_of_bfloat16();
  }
  if (size_ > 1) sum(call, data, count, type, op);
  if (halved) std::copy(halves.begin(), halves.end(), static_cast<float*>(tensor.mutable_data()));
}

void Group::all_gather(const Collective& call, const TensorView& mine, const TensorView& all) {
  const int count = count_of(mine);
  if (count == 0) return;
  if (size_ == 1) {
    std::memcpy(all.mutable_data(), mine.data(), mine.bytes());
    return;
  }
  MPI_Request request;
  const MPI_Datatype type = moved_as(mine.dtype());
  check(MPI_Iallgather(mine.data(), count, type, all.mutable_data(), count, type, of(call), &request),
        "MPI_Iallgather");
  wait(call, &request, 1, "MPI_Iallgather");
}

void Group::send(const Collective& call, const TensorView& tensor) {
  MPI_Request request;
  check(MPI_Isend(tensor.data(), count_of(tensor), moved_as(tensor.dtype()), call.peer(), message_tag(call.tag()),
                  base_, &request),
        "MPI_Isend");
  wait(call, &request, 1, "MPI_Isend");
}

void Group::receive(const Collective& call, const TensorView& tensor) {
  MPI_Request request;
  check(MPI_Irecv(tensor.mutable_data(), count_of(tensor), moved_as(tensor.dtype()), call.peer(),
                  message_tag(call.tag()), base_, &request),
        "MPI_Irecv");
  wait(call, &request, 1, "MPI_Irecv");
}

std::unique_ptr<Group> Group::split(const Collective& call, int colour) {
  std::vector<int> colours(static_cast<std::size_t>(size_));
  if (size_ == 1) {
    colours[0] = colour;
  } else {
    MPI_Request request;
    check(MPI_Iallgather(&colour, 1, MPI_INT, colours.data(), 1, MPI_INT, of(call), &request), "MPI_Iallgather");
    wait(call, &request, 1, "MPI_Iallgather");
  }
  if (colour < 0) return nullptr;
  std::vector<int> same;
  for (int r = 0; r < size_; ++r)
    if (colours[static_cast<std::size_t>(r)] == colour) same.push_back(r);
  MPI_Group all, part;
  MPI_Comm made;
  check(MPI_Comm_group(base_, &all), "MPI_Comm_group");
  check(MPI_Group_incl(all, static_cast<int>(same.size()), same.data(), &part), "MPI_Group_incl");
  // All ranks of the part have just been in a call of this tag, so none is waited for.
  check(MPI_Comm_create_group(base_, part, message_tag(call.tag()), &made), "MPI_Comm_create_group");
  check(MPI_Group_free(&part), "MPI_Group_free");
  check(MPI_Group_free(&all), "MPI_Group_free");
  check(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return std::make_unique<Group>(made, stopped_);
}

}  // namespace belay_mpi
