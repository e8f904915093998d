// The operators of a job that launch GPU work, in the order in which they were called.
#pragma once

#include <string_view>
#include <vector>

#include "whatif/job/job.h"

namespace headroom {

/// One operator with its GPU tasks.
struct LaunchingOperator {
  /// The innermost operator around the launches whose cost is known, or the innermost one.
  HostEventId op;
  std::vector<TaskIndex> tasks;  ///< In order; not empty.
};

/// All of them, by start.
std::vector<LaunchingOperator> LaunchingOperators(const Job& job);

std::string_view NameOfOperator(const Job& job, HostEventId op);

/// Product of the extents; 1 for a scalar.
double ElementsOf(const TensorArg& tensor);

/// The first tensor among the arguments; nullptr if there is none.
const TensorArg* FirstTensor(const OperatorCall& call);

/// Elements of the largest tensor among the arguments.
double LargestElements(const OperatorCall& call);

/// The outermost of the library's operators around one: aten::matmul around aten::bmm.
HostEventId OutermostOperator(const Job& job, HostEventId op);

/// The operator with an autograd sequence number at or around one; none.
HostEventId NumberedOperator(const Job& job, HostEventId op);

/// One past the last row of what is inside an event, itself included.
std::uint32_t EndRow(const Job& job, HostEventId event);

}  // namespace headroom
