// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
// Lesson 2: train a network on Fashion-MNIST, look at its plan, test it, save its weights.
// usage: example_02_fashion_mnist [FOLDER] [EPOCHS] [FILE]
#include <wafer/wafer.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

using namespace wafer;

namespace {

constexpr Index kBatch = 128;

// One line that is redrawn on a terminal; now and then a plain line elsewhere.
class Progress {
 public:
  Progress(int epoch, Index batches)
      : epoch_(epoch), batches_(batches), terminal_(isatty(STDOUT_FILENO) == 1) {}
  void show(Index batch, double loss) const {
    constexpr int kWidth = 30;
    const int filled = static_cast<int>(kWidth * batch / batches_);
    const bool last = batch == batches_;
    if (terminal_ && (batch % 8 == 0 || last)) {
      std::printf("\repoch %2d [%-*s] loss %.4f", epoch_, kWidth,
                  std::string(static_cast<std::size_t>(filled), '=').c_str(), loss);
      std::fflush(stdout);
    } else if (!terminal_ && last) {
      std::printf("epoch %2d loss %.4f", epoch_, loss);
    }
  }

 private:
  int epoch_;
  Index batches_;
  bool terminal_;
};

// Share of the rows that the network classifies right.
double accuracy(Session& session, data::Loader& rows) {
  double correct = 0;
  for (const data::Batch& batch : rows) {
    correct += session.step("eval", {{"image", batch.image}, {"label", batch.label}})["correct"].scalar();
  }
  return correct / static_cast<double>(rows.rows());
}

void train(const std::string& folder, int epochs, const std::string& file) {
  Graph g;
  Axis b = g.axis("batch", kBatch);
  Tensor image = g.input("image", {b, 784});
  Tensor label = g.input("label", {b}, DType::i32);
  Tensor logits =
      image | nn::Linear{512, "fc1"} | Relu{} | nn::Linear{512, "fc2"} | Relu{} | nn::Linear{10, "head"};
  Tensor loss = logits | cross_entropy(label);

  data::Loader training{data::fashion_mnist(folder, "train"), kBatch};
  data::Loader testing{data::fashion_mnist(folder, "test"), kBatch, {.shuffle = false}};
  const Index steps = training.batches() * epochs;
  const AdamW optimizer{.lr = warmup_cosine(1e-3, 100, steps)};
  Executable executable = compile({{"train", minimize(loss, optimizer).clip_norm(5.0).fetch("loss", loss)},
                                   {"eval", fetch("correct", count_correct(logits, label))}},
                                  Fabric::host());
  std::cout << executable.plan() << std::flush;

  Session session{executable};
  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const Progress progress(epoch, training.batches());
    Index done = 0;
    double sum = 0;
    for (const data::Batch& batch : training) {
      sum += session.step("train", {{"image", batch.image}, {"label", batch.label}})["loss"].scalar();
      ++done;
      progress.show(done, sum / static_cast<double>(done));
    }
    std::printf(", test accuracy %.4f\n", accuracy(session, testing));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  session.save(file);
  std::printf("training_seconds %.1f\nsaved %s\n", seconds.count(), file.c_str());
  std::printf("test_accuracy %.4f\n", accuracy(session, testing));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train(argc > 1 ? argv[1] : data::kFashionMnistFolder, argc > 2 ? std::stoi(argv[2]) : 10,
          argc > 3 ? argv[3] : "fashion_mnist.safetensors");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
