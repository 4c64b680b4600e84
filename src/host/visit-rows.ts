import type { Told } from "../stats/visit.ts";

/** Visits in memory as they come, until they are put together link by link. */
export type VisitRows = {
  readonly note: (visited: Visited, told: Told) => void;
  readonly isFull: () => boolean;
  /** Takes all of them out, each with how often it was. A link may be among them several times. */
  readonly take: (takeOne: (linkId: string, told: Told, times: number) => void) => void;
};

/** A link, for as long as the host knows where it leads. */
export type Visited = {
  readonly linkId: string;
  /** Where its last visit was noted, counted from the first one that this process has noted. */
  row: number;
};

/** Of a link that was not visited yet. */
export const unnoted = -1;

const nothing: Told = { projectId: "", kind: "", isClick: false };

/**
 * The same memory is used again and again. An object for each visited link would live for the
 * second until it is written: long enough to be copied several times before it is thrown away.
 */
export function createVisitRows(most: number): VisitRows {
  const linkIds = Array.from({ length: most }, () => "");
  const kinds = Array.from({ length: most }, () => nothing);
  const times = new Uint32Array(most);
  let size = 0;
  /** How many were taken out before. */
  let taken = 0;

  return {
    note: (visited, told) => {
      const known = visited.row - taken;
      if (known >= 0 && kinds[known] === told) {
        times[known] = (times[known] ?? 0) + 1;
        return;
      }
      linkIds[size] = visited.linkId;
      kinds[size] = told;
      times[size] = 1;
      visited.row = taken + size;
      size += 1;
    },
    isFull: () => size >= most,
    take: (takeOne) => {
      for (let row = 0; row < size; row += 1) {
        takeOne(linkIds[row] ?? "", kinds[row] ?? nothing, times[row] ?? 0);
      }
      taken += size;
      size = 0;
    },
  };
}
