"""Registers as they are expected, held against what ptxas gave the kernels that were measured."""

from smemreuse.advisor.registers import BESIDE, live_registers, registers_of, spilled
from tests.advisor.dumps import kernel_of

WIDE = 'X = T.alloc_buffer((64,), "float32", scope="local")\n'
TWO = WIDE + 'Y = T.alloc_buffer((64,), "float32", scope="local")\n'


def fill(name: str, value: str = "A[tx]") -> str:
    return f"for i in T.unroll(64):\n    {name}[i] = {value}\n"


def test_locals_that_live_together_add_up() -> None:
    both = TWO + fill("X") + fill("Y") + "O[tx] = X[0] + Y[0]\n"
    assert live_registers(kernel_of(both)) == BESIDE + 128


def test_one_that_dies_gives_its_registers_to_what_is_made_of_it() -> None:
    turned = TWO + fill("X") + fill("Y", "X[i]") + "O[tx] = Y[0]\n"
    assert live_registers(kernel_of(turned)) == BESIDE + 64


def test_what_is_carried_round_a_loop_lives_in_all_of_it() -> None:
    used = "    O[tx] = X[0]\n"
    inner = "".join(f"    {line}\n" for line in fill("Y").splitlines()) + "    O[tx] = Y[0]\n"
    carried = TWO + fill("X") + "for k in range(8):\n" + used + inner
    before = TWO + fill("X") + "O[tx] = X[0]\nfor k in range(8):\n" + inner
    assert live_registers(kernel_of(carried)) == BESIDE + 128
    assert live_registers(kernel_of(before)) == BESIDE + 64


def test_what_threads_do_not_get_is_spilled() -> None:
    large = 'X = T.alloc_buffer((300,), "float32", scope="local")\n'
    body = (
        large + "for i in T.unroll(300):\n    X[i] = A[tx]\nfor i in range(9):\n    O[i] = X[i]\n"
    )
    few, many = kernel_of(body, threads=128), kernel_of(body, threads=512)
    assert registers_of(few, 128).launched == 255
    assert registers_of(few, 128).spilled == BESIDE + 300 - 255
    assert registers_of(many, 512).launched == 128
    assert registers_of(many, 512).spilled == BESIDE + 300 - 128
    assert spilled(few, 0) == spilled(few, -5) == 0
