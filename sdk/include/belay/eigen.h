// SPDX-License-Identifier: Apache-2.0
// Tensors as Eigen's arrays, vectors, matrices and tensors: the values of a hook, the batch of an input, an op's inputs
// and outputs, a checkpoint's tensors.
//
//   void after_run(belay::RunContext&, const belay::RunValues& values) override {
//     const auto weights = belay::eigen_matrix<const float>(values[weights_], "weights");
//     longest_ = weights.rowwise().norm().maxCoeff();
//   }
//
//   void run(belay::OpRun& run) override {                                  // the kernel of an op
//     const auto x = belay::eigen_array<const float>(run.input(0));
//     auto y = belay::eigen_array<float>(run.output(0));
//     run.parallel(x.size(), 4096, [&](std::int64_t begin, std::int64_t end) {
//       y.segment(begin, end - begin) = x.segment(begin, end - begin).square();
//     });
//   }
//
// Each function returns a map: it copies nothing, owns nothing, and is valid as long as the tensor (a hook's value: for
// the callback). `const float` maps for reading, `float` also for writing. Write only into tensors that were passed to
// be filled (an op's outputs, a batch, an own Tensor). The values of a run belong to the session. Elements are float,
// double, std::int32_t, std::int64_t, std::uint8_t, bool, Eigen::bfloat16 and Eigen::half. INVALID_ARGUMENT, with the
// tensor's name: dtype or rank is not the expected one.
//
// plugin.h does not include this header, and no Eigen type crosses the boundary. Each library brings the version that
// it was compiled with. Only this header needs Eigen (3.4, Debian's libeigen3-dev):
//
//   g++ -std=c++17 -O2 -shared -fPIC my.cc $(pkg-config --cflags belay-sdk eigen3) -o my.so
//   find_package(Eigen3 REQUIRED)  belay_add_plugin(my SOURCES my.cc LINK Eigen3::Eigen)
//
// Speed. Assign whole expressions: `y = x.square() + 1` is one loop over the elements, in packets of the width that the
// compiler may use. `auto` keeps an expression unevaluated. That is right for a map and wrong for a result: name the
// result's type. In a kernel write a product as `y.noalias() = a * b`, which needs no temporary. Allocate in prepare.
// The host provides threads (OpRun::parallel): compile without -fopenmp, or define EIGEN_DONT_PARALLELIZE. The last
// elements, which fill no packet, are computed one by one; exp or tanh may round differently there. If results must be
// the same bits for every number of threads, begin the parts of parallel at multiples of 16 elements.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <unsupported/Eigen/CXX11/Tensor>

#include "belay/tensor.h"

namespace belay {
inline namespace v0 {
namespace detail {

template <>
struct DTypeOf<Eigen::bfloat16> : std::integral_constant<DType, DType::kBFloat16> {};
template <>
struct DTypeOf<Eigen::half> : std::integral_constant<DType, DType::kFloat16> {};

template <class T, class... Allowed>
inline constexpr bool is_one_of = (std::is_same_v<T, Allowed> || ...);

// Throws "'weights' is int64 [3], expected float32 [?, ?]"; rank -1: any.
[[noreturn]] inline void fail_map(const TensorView& tensor, std::string_view name, DType dtype, std::int32_t rank) {
  std::string text = name.empty() ? "the tensor" : "'" + std::string(name) + "'";
  text += std::string(" is ") + dtype_name(tensor.dtype()) + " " + dims_text(tensor.dims()) + ", expected ";
  text += dtype_name(dtype);
  if (rank >= 0) text += " " + dims_text(Dims(static_cast<std::size_t>(rank), -1));
  fail(Code::kInvalidArgument, text);
}

template <class T>
T* data_to_map(const TensorView& tensor, std::string_view name, std::int32_t rank) {
  static_assert(is_one_of<std::remove_const_t<T>, float, double, std::int32_t, std::int64_t, std::uint8_t, bool,
                          Eigen::bfloat16, Eigen::half>,
                "belay: Eigen maps float, double, std::int32_t, std::int64_t, std::uint8_t, bool, Eigen::bfloat16 and "
                "Eigen::half");
  if (tensor.dtype() != dtype_of<T> || (rank >= 0 && tensor.rank() != rank)) fail_map(tensor, name, dtype_of<T>, rank);
  return static_cast<T*>(tensor.mutable_data());
}

// Read-only if T is const, as Eigen's maps take it.
template <class T, class Plain>
using Mapped = std::conditional_t<std::is_const_v<T>, const Plain, Plain>;

}  // namespace detail

// The types of the results, for members and parameters. Elements need no alignment (Eigen::Unaligned).
template <class T>
using EigenArray = Eigen::Map<detail::Mapped<T, Eigen::Array<std::remove_const_t<T>, Eigen::Dynamic, 1>>>;
template <class T>
using EigenVector = Eigen::Map<detail::Mapped<T, Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, 1>>>;
template <class T>
using EigenMatrix = Eigen::Map<
    detail::Mapped<T, Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>>;
template <class T, int rank>
using EigenTensor =
    Eigen::TensorMap<detail::Mapped<T, Eigen::Tensor<std::remove_const_t<T>, rank, Eigen::RowMajor, Eigen::Index>>>;

// Maps all elements of a tensor of any rank in row-major order, a scalar's too. Operators work element by element.
// .matrix() is the same as a vector, for dot and norm. `name` is for the error only.
template <class T>
EigenArray<T> eigen_array(const TensorView& tensor, std::string_view name = {}) {
  return {detail::data_to_map<T>(tensor, name, -1), static_cast<Eigen::Index>(tensor.size())};
}

// Maps a tensor [n] as a column vector.
template <class T>
EigenVector<T> eigen_vector(const TensorView& tensor, std::string_view name = {}) {
  return {detail::data_to_map<T>(tensor, name, 1), tensor.dim(0)};
}

// Maps a tensor [rows, columns], row-major like the tensor. Eigen's own matrices are column-major: an assignment
// between them copies each element to its place.
template <class T>
EigenMatrix<T> eigen_matrix(const TensorView& tensor, std::string_view name = {}) {
  return {detail::data_to_map<T>(tensor, name, 2), tensor.dim(0), tensor.dim(1)};
}

// Maps a tensor of this rank, from 0: images(n, y, x, channel). Eigen calls its tensors unsupported, which refers to
// their interface.
template <class T, int rank>
EigenTensor<T, rank> eigen_tensor(const TensorView& tensor, std::string_view name = {}) {
  T* data = detail::data_to_map<T>(tensor, name, rank);
  Eigen::DSizes<Eigen::Index, rank> dims;
  for (int i = 0; i < rank; ++i) dims[i] = tensor.dim(i);
  return {data, dims};
}

// A temporary Tensor ends with the statement, and its map would be invalid: keep the Tensor in a variable.
template <class T>
void eigen_array(Tensor&& tensor, std::string_view name = {}) = delete;
template <class T>
void eigen_vector(Tensor&& tensor, std::string_view name = {}) = delete;
template <class T>
void eigen_matrix(Tensor&& tensor, std::string_view name = {}) = delete;
template <class T, int rank>
void eigen_tensor(Tensor&& tensor, std::string_view name = {}) = delete;

}  // namespace v0
}  // namespace belay
