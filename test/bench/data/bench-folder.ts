import type { BenchStore } from "./data-file.ts";
import { addBenchProject, type BenchProject } from "./bench-project.ts";
import { seedProject, type SeededLinks } from "./seed.ts";

/** The large data folder, like that of a service that has run for years. */
export type BenchFolder = SeededLinks & {
  readonly file: BenchStore;
  /** The number of links is an option of the run. It has no index at first. */
  readonly large: BenchProject;
  /** Has `visitedLinks` links. */
  readonly visited: BenchProject;
  /** Has so few links that no index is built for them. It is written while it is read. */
  readonly small: BenchProject;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export const visitedLinks = 100_000;
const smallLinks = 2000;

export async function openBenchFolder(file: BenchStore, links: number): Promise<BenchFolder> {
  const large = await addBenchProject(file, "large");
  const visited = await addBenchProject(file, "visited");
  const small = await addBenchProject(file, "small");
  await seedProject(file, visited, visitedLinks);
  await seedProject(file, small, smallLinks);
  const { samples } = await seedProject(file, large, links);
  return { file, large, visited, small, samples, [Symbol.asyncDispose]: file[Symbol.asyncDispose] };
}
