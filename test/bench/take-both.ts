/**
 * Does one and the other, in each round the other way round: neither is always the one that finds
 * the machine warm.
 */
export async function takeBoth<One, Other>(
  round: number,
  takeOne: () => Promise<One>,
  takeOther: () => Promise<Other>,
): Promise<readonly [one: One, other: Other]> {
  if (round % 2 === 0) {
    const one = await takeOne();
    return [one, await takeOther()];
  }
  const other = await takeOther();
  return [await takeOne(), other];
}
