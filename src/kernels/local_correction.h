// By how much the models miss one GPU, around the shapes of operators that were measured on it.
//
// The models' errors are alike for like shapes and not the same for a whole GPU, nor for a whole
// class of work: with the mean error of 24 measured products carried to all others, predictions got
// worse. So the error at a shape is the median of the measured ones, weighted by how near they are:
// e_i = log(measured / modelled) at distance d_i in the logarithms of the extents has the weight
//
//   w_i = exp(-d_i^2 / (2 radius^2))
//
// and the models themselves, with an error of 0, the weight `prior` (a local median, as in
// Cleveland's robust local regression, 1979). One measurement that went wrong moves nothing.
// Evidence is sum w_i / (prior + sum w_i), from 0 to 1. Rows of matrices that are no multiples of
// 16 bytes take other kernels, so they are far from those that are.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "kernels/kernel_constants.h"
#include "kernels/kernel_work.h"

namespace headroom {

struct Correction {
  double log_factor = 0;  ///< Of the modelled time.
  double evidence = 0;    ///< How much was measured near by: 0 nothing, 1 much.
};

class LocalCorrection {
 public:
  struct Sample {
    KernelWork work;
    double log_error = 0;  ///< log(measured / modelled).
  };

  LocalCorrection(const std::vector<Sample>& samples, const KernelConstants& constants);

  Correction At(const KernelWork& work) const;
  /// Measured operators.
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kMaxExtents = 8;
  /// Logarithms of extents and the like; what a kind has not is 0 in all of them.
  using Point = std::array<double, kMaxExtents>;
  /// Shapes of one kind and, where it decides which units compute, of one type.
  using Kind = std::pair<int, DType>;
  using Errors = std::vector<std::pair<Point, double>>;
  static std::pair<Kind, Point> Place(const KernelWork& work);

  double radius_ = 1, prior_ = 0;
  std::size_t size_ = 0;
  std::map<Kind, Errors> errors_;
};

}  // namespace headroom
