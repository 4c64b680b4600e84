import { askListener, type Found, type FoundListener } from "./ask-listener.ts";
import { isSamePlace, readNote, type Note, type Place } from "./folder-note.ts";
import type { Signer } from "./signer.ts";

/** Looks for the process that listens for a data folder. */
export type Looked = {
  /** Undefined where none of ours was found. */
  readonly listener: FoundListener | undefined;
  /** As it was before anybody was asked. */
  readonly note: Note;
  /** The ports that are somebody else's. */
  readonly foreign: readonly number[];
  /** The ports that are worth another question, and those of them where nobody answered. */
  readonly unclear: readonly number[];
  readonly silent: readonly number[];
};

type Looking = {
  readonly data: string;
  readonly signer: Signer;
  /** Where the settings have it; left out where nobody answered there. */
  readonly usual: Place | undefined;
  readonly signal: AbortSignal;
};

/** Both places are asked at once: a stranger may take its time. */
export async function findListener({ data, usual, ...asking }: Looking): Promise<Looked> {
  const note = readNote(data);
  const { place: noted } = note;
  const isUsualOther = usual !== undefined && usual.port !== 0 && !isSamePlace(noted, usual);
  const places = [...(noted === undefined ? [] : [noted]), ...(isUsualOther ? [usual] : [])];
  const found = await Promise.all(
    places.map(async (place) => ({ place, answer: await askListener(place, asking) })),
  );
  const [listener, ...others] = found.flatMap(({ answer }) =>
    typeof answer === "string" ? [] : [answer],
  );
  for (const { letGo } of others) letGo();
  const listPorts = (wanted: Found) =>
    found.flatMap(({ place, answer }) => (answer === wanted ? [place.port] : []));
  const silent = listPorts("silent");
  const unclear = [...listPorts("unclear"), ...silent];
  return { listener, note, foreign: listPorts("foreign"), unclear, silent };
}
