import { askListener, type Found, type FoundListener } from "./ask-listener.ts";
import { isSamePlace, readNote, type Place } from "./folder-note.ts";
import type { Signer } from "./signer.ts";

/** Looks for the process that listens for a data folder. */
export type Looked = {
  /** Undefined where none of ours was found. */
  readonly listener: FoundListener | undefined;
  /** Where the note says that one was. */
  readonly noted: Place | undefined;
  /** The ports that are somebody else's. */
  readonly foreign: readonly number[];
  /** The ports that are worth another question. */
  readonly unclear: readonly number[];
};

type Looking = {
  readonly data: string;
  readonly signer: Signer;
  /** Where the settings have it. */
  readonly usual: Place;
  readonly signal: AbortSignal;
};

/** Both places are asked at once: a stranger may take its time. */
export async function findListener({ data, usual, ...asking }: Looking): Promise<Looked> {
  const noted = readNote(data);
  const places = [
    ...(noted === undefined ? [] : [noted]),
    ...(usual.port === 0 || isSamePlace(noted, usual) ? [] : [usual]),
  ];
  const found = await Promise.all(
    places.map(async (place) => ({ place, answer: await askListener(place, asking) })),
  );
  const [listener, ...others] = found.flatMap(({ answer }) =>
    typeof answer === "string" ? [] : [answer],
  );
  for (const { letGo } of others) letGo();
  const listPorts = (wanted: Found) =>
    found.flatMap(({ place, answer }) => (answer === wanted ? [place.port] : []));
  return { listener, noted, foreign: listPorts("foreign"), unclear: listPorts("unclear") };
}
