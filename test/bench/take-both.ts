/** Runs both, in alternating order per round, so that neither always finds a warm machine. */
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
