// Corrects the models for one GPU around the shapes of operators measured on it.
//
// The models' errors are similar for similar shapes. They are not constant over a GPU, nor over a
// class of work. Applying the mean error of 24 measured products to all others made predictions
// worse.
//
// So the error at a shape is the median of the measured errors, weighted by distance. The error e_i
// = log(measured / modelled), at distance d_i in the logarithms of the extents, has the weight
//
//   w_i = exp(-d_i^2 / (2 radius^2))
//
// The models count as an error of 0 with the weight `prior`. This is a local median, as in
// Cleveland's robust local regression (1979), so one bad measurement has no effect. Evidence is sum
// w_i / (prior + sum w_i), from 0 to 1. Matrix rows that are not multiples of 16 bytes run other
// kernels, so they are far from aligned rows.
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
  double log_factor = 0;  ///< Logarithm of the factor to apply to the modelled time.
  double evidence = 0;    ///< Weight of measurements of similar shapes, from 0 (none) to 1 (many).
};

class LocalCorrection {
 public:
  struct Sample {
    KernelWork work;
    double log_error = 0;  ///< log(measured / modelled).
  };

  LocalCorrection(const std::vector<Sample>& samples, const KernelConstants& constants);

  Correction At(const KernelWork& work) const;
  /// Number of measured operators.
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kMaxExtents = 8;
  /// Logarithms of extents, and similar coordinates; 0 for those that a kind lacks.
  using Point = std::array<double, kMaxExtents>;
  /// Kind of shape, plus the type if it determines the arithmetic units.
  using Kind = std::pair<int, DType>;
  using Errors = std::vector<std::pair<Point, double>>;
  static std::pair<Kind, Point> Place(const KernelWork& work);

  double radius_ = 1, prior_ = 0;
  std::size_t size_ = 0;
  std::map<Kind, Errors> errors_;
};

}  // namespace headroom
