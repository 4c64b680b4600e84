import type { SeedCounts } from "./figures.ts";
import { openService } from "./shared-service.ts";
import { playSeed, type Outcome } from "./play-seed.ts";

/** After this many seeds the files are replaced, as their data slows down every statement. */
const seedsPerService = 100;

export async function playSeeds(
  { first, count }: { readonly first: number; readonly count: number },
  figures: SeedCounts,
  onSeed: (outcome: Outcome) => void = () => undefined,
): Promise<readonly Outcome[]> {
  const wrong: Outcome[] = [];
  const end = first + count;
  for (let start = first; start < end; start += seedsPerService) {
    await using service = await openService();
    for (let seed = start; seed < Math.min(start + seedsPerService, end); seed += 1) {
      const outcome = await playSeed(service, seed, figures);
      if (outcome.complaints.length > 0) wrong.push(outcome);
      onSeed(outcome);
    }
  }
  return wrong;
}

export function describeOutcome({ seed, complaints, story }: Outcome): string {
  return [
    `seed ${seed} (npm run simulate -- 1 ${seed})`,
    ...complaints.map((complaint) => `  ${complaint}`),
    ...story,
  ].join("\n");
}
