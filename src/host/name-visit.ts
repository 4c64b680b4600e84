import type { Seal } from "../attribution/seal-marks.ts";
import type { Random } from "../contract/clock.ts";
import { isSameSecret } from "../text/same-secret.ts";

/**
 * What a page calls its visit: when that was, something random, and a proof that it was us who said
 * so of this link. Whoever knows the name tells more of the visit, and by that it is matched
 * exactly, so that nobody can make one up, or have one begin anew.
 */

const [time_characters, random_characters, proof_characters] = [8, 7, 7];
const name = new RegExp(
  `^([\\da-z]{${time_characters}})([\\w-]{${random_characters}})([\\w-]{${proof_characters}})$`,
);

type Named = {
  readonly seal: Seal;
  readonly linkId: string;
};

export function nameVisit({ seal, linkId }: Named, visitedAt: number, random: Random): string {
  const time = visitedAt.toString(36).padStart(time_characters, "0");
  const bytes = Buffer.from(random.bytes(random_characters)).toString("base64url");
  const begin = time + bytes.slice(0, random_characters);
  return begin + prove(seal, linkId, begin);
}

/** Undefined for a name that is none of ours, or of another link's visit. */
export function readVisitTime({ seal, linkId }: Named, id: string): number | undefined {
  const [, time = "", bytes = "", proof = ""] = name.exec(id) ?? [];
  const isOurs = isSameSecret(proof, prove(seal, linkId, time + bytes));
  return isOurs ? Number.parseInt(time, 36) : undefined;
}

function prove(seal: Seal, linkId: string, begin: string): string {
  return seal("visit", JSON.stringify([linkId, begin])).slice(0, proof_characters);
}
