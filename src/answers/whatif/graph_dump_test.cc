#include "answers/whatif/graph_dump.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answers/test_text.h"
#include "render/escape.h"
#include "whatif/test_job.h"

namespace headroom {
namespace graph_dump_test {

using Json = nlohmann::ordered_json;

TEST(RenderGraph, HasALineATaskAndTheirEdges) {
  JobBuilder builder;
  for (int step = 0; step < 3; ++step)
    builder.Step().Forward("aten::add", "[[8], [8]]", 50, step, "a \"quoted\" kernel");
  const Job& job = builder.Build();
  const std::string path = "a\n\xff.json";
  const std::vector<std::string> lines = LinesOf(RenderGraph(job, path));
  const Json head = Json::parse(lines.front());
  EXPECT_EQ(head["schema"], "headroom.graph/1");
  EXPECT_EQ(head["path"], ValidUtf8(path));
  EXPECT_EQ(head["steps"], job.graph().steps);
  ASSERT_EQ(lines.size(), 1 + job.graph().tasks.size());
  EXPECT_EQ(head["tasks"], job.graph().tasks.size());
  std::size_t edges = 0;
  int kernels = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const Json task = Json::parse(lines[i]);
    EXPECT_EQ(task["task"], i - 1);
    edges += task["edges"].size();
    for (const Json& edge : task["edges"]) EXPECT_LT(edge["from"], job.graph().tasks.size());
    if (task["kind"] != "gpu") continue;
    ++kernels;
    EXPECT_EQ(task["name"], "a \"quoted\" kernel");
    EXPECT_EQ(task["duration_ns"], 50'000);
  }
  EXPECT_EQ(head["edges"], edges);
  EXPECT_GE(kernels, 1);
}

}  // namespace graph_dump_test
}  // namespace headroom
