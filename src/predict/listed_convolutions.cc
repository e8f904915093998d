#include "predict/listed_convolutions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace headroom {
namespace {

/// Layout of the dimensions of one kind: batch and channels come first.
struct ConvolutionForm {
  std::string_view kind;
  std::size_t rank;  ///< Spatial dimensions.
  bool square;       ///< One number for all spatial dimensions.
  bool dilation;     ///< Has dilations.
  bool groups;       ///< Ends with the number of groups.
  bool transposed;
  std::string_view text;  ///< For messages.
};

constexpr std::array kConvolutionForms = {
    ConvolutionForm{"CONV1D", 1, false, true, true, false,
                    "(b, cin, cout, kernel, image, stride, pad, dilation, groups)"},
    ConvolutionForm{"CONVT1D", 1, false, true, true, true,
                    "(b, cin, cout, kernel, image, stride, pad, dilation, groups)"},
    ConvolutionForm{"CONV2DG", 2, true, false, true, false,
                    "(b, cin, cout, ksize, insize, stride, pad, groups)"},
    ConvolutionForm{"CONV2DX", 2, false, true, false, false,
                    "(b, cin, cout, and two each of kernel, image, stride, pad, dilation)"},
    ConvolutionForm{"CONVT2D", 2, false, true, true, true,
                    "(b, cin, cout, two each of kernel, image, stride, pad, dilation, and groups)"},
    ConvolutionForm{
        "CONV3D", 3, false, true, true, false,
        "(b, cin, cout, three each of kernel, image, stride, pad, dilation, and groups)"},
    ConvolutionForm{
        "CONVT3D", 3, false, true, true, true,
        "(b, cin, cout, three each of kernel, image, stride, pad, dilation, and groups)"},
};

const ConvolutionForm* ConvolutionFormOf(std::string_view kind) {
  const auto at = std::find_if(kConvolutionForms.begin(), kConvolutionForms.end(),
                               [&](const ConvolutionForm& form) { return form.kind == kind; });
  return at == kConvolutionForms.end() ? nullptr : &*at;
}

constexpr std::size_t kChannels = 3;  ///< Batch and channels.

}  // namespace

bool IsListedConvolution(std::string_view kind) { return ConvolutionFormOf(kind) != nullptr; }

Result<ConvolutionShape> ReadConvolution(std::string_view kind, const Extents& extents,
                                         const ListedRow& row) {
  const ConvolutionForm& form = *ConvolutionFormOf(kind);
  const std::size_t each = form.square ? 1 : form.rank;
  const std::size_t parts = form.dilation ? 5 : 4;  // Kernel, image, stride, padding, dilation.
  const std::size_t count = kChannels + parts * each + (form.groups ? 1 : 0);
  const std::size_t padding = kChannels + 3 * each;
  bool sound = extents.size() == count;
  for (std::size_t i = 0; sound && i < count; ++i) {
    const bool may_be_0 = i >= padding && i < padding + each;
    constexpr double kMost = 1e9;
    sound = extents[i] == std::floor(extents[i]) && extents[i] >= (may_be_0 ? 0 : 1) &&
            extents[i] <= kMost;
  }
  if (!sound) {
    return BadRow(row.place, fmt::format("dimensions of {} must be whole numbers {}; only the "
                                         "padding can be 0",
                                         kind, form.text));
  }
  const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(extents[i]); };
  ConvolutionShape shape;
  shape.batch = whole(0), shape.in_channels = whole(1), shape.out_channels = whole(2);
  shape.groups = form.groups ? whole(count - 1) : 1;
  shape.transposed = form.transposed;
  shape.channels_last = row.channels_last;
  shape.dtype = DType::kF32;
  shape.data_gradient = row.name == "conv_dgrad";
  shape.weight_gradient = row.name == "conv_wgrad";
  for (std::size_t d = 0; d < form.rank; ++d) {
    const std::size_t at = kChannels + (form.square ? 0 : d);
    const std::int64_t kernel = whole(at), image = whole(at + each), stride = whole(at + 2 * each),
                       pad = whole(at + 3 * each),
                       dilation = form.dilation ? whole(at + 4 * each) : 1;
    const std::int64_t reach = dilation * (kernel - 1) + 1;
    const std::int64_t out = form.transposed ? (image - 1) * stride - 2 * pad + reach
                                             : (image + 2 * pad - reach) / stride + 1;
    if (out < 1 || (!form.transposed && image + 2 * pad < reach)) {
      return BadRow(row.place, fmt::format("the kernel of {} is larger than the padded image; "
                                           "correct its dimensions",
                                           kind));
    }
    shape.kernel.push_back(kernel);
    shape.in.push_back(image);
    shape.out.push_back(out);
    shape.dilated |= dilation > 1;
  }
  if (shape.in_channels % shape.groups != 0 || shape.out_channels % shape.groups != 0) {
    return BadRow(row.place, fmt::format("the groups of {} must divide its channels", kind));
  }
  return shape;
}

}  // namespace headroom
