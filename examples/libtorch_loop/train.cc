// A training loop in C++ on libtorch, with Headroom's timers around its phases.
//
//   cmake -S examples/libtorch_loop -B build/libtorch_loop -G Ninja
//   cmake --build build/libtorch_loop
//   headroom record -o loop.pftrace -- build/libtorch_loop/train
//   headroom report loop.pftrace
#include <torch/torch.h>

#include <cstdio>
#include <headroom/timer.hpp>

int main() {
  torch::manual_seed(0);
  torch::nn::Sequential model(torch::nn::Linear(64, 128), torch::nn::ReLU(),
                              torch::nn::Linear(128, 10));
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-3));
  double last = 0;
  for (int step = 0; step < 50; ++step) {
    const headroom::Step whole(step);
    torch::Tensor samples, labels;
    {
      HEADROOM_SCOPE("dataloader_next");
      samples = torch::randn({32, 64});
      labels = samples.argmax(1).remainder(10);
    }
    torch::Tensor loss;
    {
      HEADROOM_SCOPE("FORWARD");
      loss = torch::nn::functional::cross_entropy(model->forward(samples), labels);
    }
    {
      HEADROOM_SCOPE("BACKWARD");
      optimizer.zero_grad();
      loss.backward();
    }
    {
      HEADROOM_SCOPE("optimizer_step");
      optimizer.step();
    }
    last = loss.item<double>();
    headroom::counter("loss", last);
  }
  const auto forward = headroom::stats("FORWARD");
  std::printf("loss %.2f; forward: %llu times, %.3f ms each\n", last,
              static_cast<unsigned long long>(forward.count), 1e3 * forward.mean_s);
}
