"""What a thread's values need beyond the registers that it can have."""

from smemreuse.advisor.spills import spilled, spilled_registers
from smemreuse.targets.registers import BESIDE
from tests.advisor.dumps import kernel_of


def test_what_threads_do_not_get_is_spilled() -> None:
    large = 'X = T.alloc_buffer((300,), "float32", scope="local")\n'
    body = (
        large + "for i in T.unroll(300):\n    X[i] = A[tx]\nfor i in range(9):\n    O[i] = X[i]\n"
    )
    few, many = kernel_of(body, threads=128), kernel_of(body, threads=512)
    assert spilled_registers(few, 128) == BESIDE + 300 - 255
    assert spilled_registers(many, 512) == BESIDE + 300 - 128
    assert spilled(few, 0) == spilled(few, -5) == 0
