"""Tests list_operators(): shapes and work of the listed operators, and its errors. Requires PyTorch."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import support

try:
    import torch
    from headroom.operators import NotOnMeta, list_operators
except ImportError:
    torch = None


def products(rows, column):
    """Returns the multiplications of the matrix products and convolutions of a column."""
    total = 0
    for row in rows:
        for kind, sizes in json.loads(row[column]):
            if kind in ("Linear", "BMM"):
                count = 1
                for size in sizes:
                    count *= size
                total += count
            elif kind == "CONV2D":
                batch, inputs, outputs, kernel, image, stride, padding = sizes
                side = (image + 2 * padding - kernel) // stride + 1
                total += batch * inputs * outputs * kernel**2 * side**2
    return total


@unittest.skipIf(torch is None, "PyTorch is not installed")
class ListOperators(unittest.TestCase):
    def kinds(self, module, *inputs, column="fw", **options):
        listed = list_operators(module, *inputs, **options)
        return [json.loads(row[column])[0] for row in listed.rows if row[column] != "[]"]

    def test_linear_layer_and_its_two_gradients(self):
        module = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
        rows = list_operators(module, torch.empty(16, 32), train=True).rows
        layers = 16 * 32 * 64 + 16 * 64 * 8
        self.assertEqual(products(rows, "fw"), layers)
        # The first layer has no gradient of its input.
        self.assertEqual(products(rows, "bw"), 2 * layers - 16 * 32 * 64)
        self.assertEqual({row["batch"] for row in rows}, {"16"})
        self.assertEqual({row["mode"] for row in rows}, {"train"})

    def test_a_transformer_multiplies_as_much_as_its_formula_says(self):
        batch, steps, width, inner = 2, 24, 64, 256
        module = torch.nn.TransformerEncoderLayer(width, 4, inner, batch_first=True)
        rows = list_operators(module, torch.empty(batch, steps, width), train=True).rows
        layers = batch * steps * (4 * width * width + 2 * width * inner)
        attention = 2 * batch * steps * steps * width
        fused = sum(1 for row in rows if row["op"] == "SDPA" and row["fw"] != "[]")
        listed = products(rows, "fw") + fused * attention
        self.assertEqual(listed, layers + attention)
        self.assertEqual(
            products(rows, "bw") + fused * 2 * attention, 2 * (layers + attention) - batch * steps * 3 * width**2
        )

    def test_convolutions(self):
        conv = torch.nn.Conv2d(3, 16, 3, 2, 1)
        image = torch.empty(4, 3, 32, 32, requires_grad=True)
        self.assertEqual(self.kinds(conv, image), [["CONV2D", [4, 3, 16, 3, 32, 2, 1]]])
        self.assertEqual(
            self.kinds(torch.nn.Conv2d(8, 8, 3, 1, 1, groups=8), torch.empty(2, 8, 16, 16))[0][0], "CONV2DG"
        )
        self.assertEqual(self.kinds(torch.nn.Conv2d(8, 8, (1, 3)), torch.empty(2, 8, 16, 16))[0][0], "CONV2DX")
        self.assertEqual(self.kinds(torch.nn.ConvTranspose2d(8, 4, 3, 2), torch.empty(2, 8, 16, 16))[0][0], "CONVT2D")
        self.assertEqual(
            self.kinds(torch.nn.Conv1d(8, 4, 3), torch.empty(2, 8, 16))[0], ["CONV1D", [2, 8, 4, 3, 16, 1, 0, 1, 1]]
        )
        gradients = [
            row["name"] for row in list_operators(conv, image, train=True).rows if row["name"].startswith("conv_")
        ]
        self.assertEqual(gradients, ["conv_dgrad", "conv_wgrad"])

    def test_a_recurrent_layer_is_one_operator(self):
        for kind in ("LSTM", "GRU", "RNN"):
            layer = getattr(torch.nn, kind)(32, 64, 2, bidirectional=True, batch_first=True)
            rows = list_operators(layer, torch.empty(4, 10, 32), train=True).rows
            kernel = [kind, [4, 10, 32, 64, 2, 2]]
            kernels = [(json.loads(row["fw"]), json.loads(row["bw"])) for row in rows if row["op"] != "GRAD"]
            self.assertEqual(kernels, [([kernel], []), ([], [kernel])])
            self.assertEqual(sum(row["op"] == "GRAD" for row in rows), len(list(layer.parameters())))

    def test_the_module_and_the_functions_of_pytorch_stay_as_they_were(self):
        module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(4))
        before = {name: value.clone() for name, value in module.state_dict().items()}
        function = torch.nn.functional.dropout
        list_operators(module, torch.empty(8, 4), train=True)
        self.assertIs(torch.nn.functional.dropout, function)
        for name, value in module.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)
        self.assertTrue(all(value.grad is None for value in module.parameters()))

    def test_a_module_of_many_gigabytes_needs_no_memory(self):
        module = torch.nn.Linear(200_000, 200_000, bias=False, device="meta")
        self.assertEqual(
            self.kinds(module, torch.empty(2, 200_000, device="meta")), [["Linear", [2, 200_000, 200_000]]]
        )

    def test_a_module_in_16_bits_says_so(self):
        half = torch.nn.Linear(8, 4).to(torch.bfloat16)
        rows = list_operators(half, torch.empty(2, 8, dtype=torch.bfloat16), train=True, optimizer="adamw").rows
        self.assertEqual({row["dtype"] for row in rows}, {"bf16"})
        single = list_operators(torch.nn.Linear(8, 4), torch.empty(2, 8), train=True).rows
        self.assertEqual({row["dtype"] for row in single}, {""})

    def test_results_may_be_a_dict(self):
        class Named(torch.nn.Linear):
            def forward(self, values):
                return {"logits": super().forward(values)}

        rows = list_operators(Named(8, 4), torch.empty(2, 8), train=True).rows
        self.assertEqual(products(rows, "bw"), products(rows, "fw"))

    def test_gradients_are_listed_when_they_are_ready_and_the_update_behind_them(self):
        module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
        module[2].bias.requires_grad = False
        rows = list_operators(module, torch.empty(2, 8), train=True, optimizer="adamw").rows
        of_parameters = [json.loads(row["acc"])[0] for row in rows if row["acc"] != "[]"]
        self.assertEqual(of_parameters[0], ["GRAD", [64]])
        self.assertCountEqual(of_parameters[1:-1], [["GRAD", [16]], ["GRAD", [128]]])
        self.assertEqual(of_parameters[-1], ["ADAMW", [64 + 16 + 128, 3]])
        first = next(index for index, row in enumerate(rows) if row["name"] == "2.weight")
        behind = [row["op"] for row in rows[first + 1 :]]
        self.assertIn("Linear", behind, "the first layer's gradients follow")
        with self.assertRaisesRegex(ValueError, "optimizer=.adam.: use train=True and one of sgd,"):
            list_operators(module, torch.empty(2, 8), train=True, optimizer="adam")
        with self.assertRaisesRegex(ValueError, "train=True"):
            list_operators(module, torch.empty(2, 8), optimizer="sgd")

    def test_values_of_tensors_are_refused_with_a_remedy(self):
        class Decides(torch.nn.Module):
            def forward(self, values):
                return values * 2 if values.sum() > 0 else values

        with self.assertRaisesRegex(NotOnMeta, "Decides failed on the meta device.*record a step"):
            list_operators(Decides(), torch.empty(3))

        class Copies(torch.nn.Module):
            def forward(self, values):
                return values * float(values.numpy().sum())

        with self.assertRaisesRegex(NotOnMeta, "Copies failed on the meta device"):
            list_operators(Copies(), torch.empty(3))
        with self.assertRaisesRegex(ValueError, "train=False"):
            list_operators(torch.nn.ReLU(), torch.empty(3), train=True)

    def test_command_line_and_predict(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "model.py"), os.path.join(folder, "ops.csv")
            with open(source, "w", encoding="utf-8") as file:
                file.write("import torch\ndef build():\n    return torch.nn.Linear(512, 512), torch.empty(64, 512)\n")
            command = [support.BINARY, "ops", "--python", sys.executable]
            done = subprocess.run(
                [*command, f"{source}:build", "-o", target, "--train"], capture_output=True, text=True
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            predict = [support.BINARY, "predict", "--ops", target, "--gpu", "A100-40", "--json"]
            forecast = json.loads(subprocess.run(predict, capture_output=True, text=True, check=True).stdout)
            self.assertIsNone(forecast["targets"][0]["extrapolated_why"])
            scale = [support.BINARY, "scale", "--ops", target, "--gpu", "H100", "--gpus", "8", "--json"]
            points = json.loads(subprocess.run(scale, capture_output=True, text=True, check=True).stdout)
            self.assertEqual(points["baseline"]["gradient_bytes"], 4 * (512 * 512 + 512))
            with open(source, "a", encoding="utf-8") as file:
                file.write("def alone():\n    return torch.nn.Linear(512, 512)\n")
            unwritable = [f"{source}:build", "-o", os.path.join(folder, "missing", "ops.csv")]
            done = subprocess.run([*command, *unwritable], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (4, f"{unwritable[2]}: No such file or directory\n"))
            for wrong, code, message in (
                (f"{source}:alone", 1, "tuple of the module and its inputs"),
                (source, 2, "name a function"),
                (f"{source}:none", 2, "has no function"),
                ("x.py:f", 2, "no such file"),
            ):
                done = subprocess.run([*command, wrong], capture_output=True, text=True)
                self.assertEqual(done.returncode, code)
                self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
