// SPDX-FileCopyrightText: The wafer authors
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <wafer/wafer.hpp>
using namespace wafer;

int main() {
  Graph g;
  Axis b = g.axis("batch", 128);  // named, with a greatest extent; the compiler cuts it
  Tensor image = g.input("image", {b, 784});
  Tensor label = g.input("label", {b}, DType::i32);
  Tensor logits =
      image | nn::Linear{512, "fc1"} | Relu{} | nn::Linear{512, "fc2"} | Relu{} | nn::Linear{10, "head"};
  Tensor loss = logits | cross_entropy(label);

  Executable exe =
      compile({{"train", minimize(loss, AdamW{.lr = warmup_cosine(1e-3, 100, 4690)}).fetch("loss", loss)},
               {"eval", fetch("correct", count_correct(logits, label))}},
              Fabric::host());
  std::cout << exe.plan();  // blocks, bytes, messages, before any step

  Session session{exe};
  for (const data::Batch& batch : data::Loader{data::fashion_mnist(data::kFashionMnistFolder, "train"), 128})
    std::cout << session.step("train", {{"image", batch.image}, {"label", batch.label}})["loss"].scalar()
              << '\n';
  session.save("mlp.safetensors");
}
