import { makeDataFile, type DataFile } from "./data-file.ts";
import { addPlot, type Plot } from "./plots.ts";
import { seedPlot, type Seeded } from "./seed.ts";

/** The large data folder, like that of a service that has run for years. */
export type Ground = Seeded & {
  readonly file: DataFile;
  /** The number of links is an option of the run. It has no index at first. */
  readonly large: Plot;
  /** Has `visitedLinks` links. */
  readonly visited: Plot;
  /** Has so few links that no index is built for them. It is written while it is read. */
  readonly small: Plot;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export const visitedLinks = 100_000;
const smallLinks = 2000;

export async function openGround(links: number): Promise<Ground> {
  const file = await makeDataFile();
  const large = await addPlot(file, "large");
  const visited = await addPlot(file, "visited");
  const small = await addPlot(file, "small");
  await seedPlot(file, visited, visitedLinks);
  await seedPlot(file, small, smallLinks);
  const { samples } = await seedPlot(file, large, links);
  return { file, large, visited, small, samples, [Symbol.asyncDispose]: file[Symbol.asyncDispose] };
}
