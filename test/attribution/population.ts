import type { CandidateVisit, SeenPhone } from "../../src/attribution/compare-phones.ts";
import { joinMarks, readFingerprint, readRequest } from "../../src/attribution/marks.ts";
import { createChance, type Chance } from "../support/chance.ts";

/** Simulated phones by a seed: 1 to 50 at each address, of which 70 % install after a visit. */
export type MadeVisit = CandidateVisit & {
  readonly at: number;
  readonly phone: number;
};

export type MadeInstall = {
  readonly at: number;
  readonly phone: number;
  readonly seen: SeenPhone;
  /** The link of its own visit; undefined if it had none. */
  readonly linkId: string | undefined;
};

export type Population = {
  readonly visits: readonly MadeVisit[];
  readonly installs: readonly MadeInstall[];
};

type Share = Chance["share"];

type Phone = {
  readonly id: number;
  readonly address: SeenPhone["address"];
  readonly model: readonly [name: string, width: number, height: number, ratio: number];
  readonly version: string;
  readonly language: string;
  readonly zone: string;
  /** Chrome does not report the version of the system. */
  readonly isSafari: boolean;
  readonly runsScript: boolean;
};

const models: readonly Phone["model"][] = [
  ["iPhone11,8", 414, 896, 2],
  ["iPhone12,1", 414, 896, 2],
  ["iPhone12,3", 375, 812, 3],
  ["iPhone12,5", 414, 896, 3],
  ["iPhone12,8", 375, 667, 2],
  ["iPhone13,1", 375, 812, 3],
  ["iPhone13,2", 390, 844, 3],
  ["iPhone13,4", 428, 926, 3],
  ["iPhone14,2", 390, 844, 3],
  ["iPhone14,3", 428, 926, 3],
  ["iPhone14,5", 390, 844, 3],
  ["iPhone14,7", 390, 844, 3],
  ["iPhone14,8", 428, 926, 3],
  ["iPhone15,2", 393, 852, 3],
  ["iPhone15,3", 430, 932, 3],
  ["iPhone15,4", 393, 852, 3],
  ["iPhone16,1", 393, 852, 3],
  ["iPhone17,1", 402, 874, 3],
  ["iPhone17,2", 440, 956, 3],
  ["iPhone17,3", 393, 852, 3],
];

const versions = ["26.1", "26.1", "26.1", "26.0", "26.0", "18.6", "18.5", "17.6"];
const places: readonly (readonly [zone: string, ...languages: string[]])[] = [
  ["Europe/Berlin", "de-DE", "de-DE", "de-DE", "en-DE", "tr-DE"],
  ["America/New_York", "en-US", "en-US", "en-US", "es-US"],
  ["Asia/Kolkata", "en-IN", "en-IN", "hi-IN"],
  ["Asia/Tokyo", "ja-JP", "ja-JP", "ja-JP", "en-JP"],
];

const minute_ms = 60_000;

export type CrowdPlan = {
  readonly seed: number;
  readonly count: number;
  readonly spell_ms: number;
  /** The number of visits without an install, for each install. */
  readonly idle: number;
  readonly most?: number;
};

export function makePopulation(made: CrowdPlan): Population {
  const { seed, count, spell_ms, idle, most = 50 } = made;
  const { share: chance } = createChance(seed, "population");
  const visits: MadeVisit[] = [];
  const installs: MadeInstall[] = [];
  let id = 0;
  for (let house = 0; installs.length < count; house += 1) {
    const begin = chance() * 24 * 60 * minute_ms;
    const phones = makeHouse({ house, most }, chance, () => (id += 1));
    for (const phone of phones) {
      const at = begin + chance() * spell_ms;
      const isOrganic = chance() < 0.3;
      const linkId = `link-${Math.floor(chance() ** 2 * 200)}`;
      if (!isOrganic) {
        visits.push(makeVisit(phone, linkId, at - (0.3 + chance() * 8) * minute_ms));
      }
      const own = isOrganic ? undefined : linkId;
      installs.push({ at, phone: phone.id, seen: seeInstall(phone), linkId: own });
      // Another phone there visits a link and installs nothing.
      if (chance() >= idle) continue;
      const other = pick(phones, chance);
      const its = `link-${Math.floor(chance() ** 2 * 200)}`;
      visits.push(makeVisit(other, its, begin + chance() * spell_ms));
    }
  }
  return {
    visits: visits.toSorted((one, other) => one.at - other.at),
    installs: installs.slice(0, count).toSorted((one, other) => one.at - other.at),
  };
}

/** Whether its own visit is unlike all others from its address. */
export function hasClearVisit({ phone, linkId }: MadeInstall, here: readonly MadeVisit[]): boolean {
  const own = here.findLast((visit) => visit.phone === phone && visit.linkId === linkId);
  const look = JSON.stringify(own?.marks);
  return (
    own !== undefined && here.every((one) => one === own || JSON.stringify(one.marks) !== look)
  );
}

type Family = { readonly house: number; readonly most: number };

function makeHouse({ house, most }: Family, chance: Share, count: () => number): readonly Phone[] {
  const [zone, ...languages] = pick(places, chance);
  const size = 1 + Math.floor(chance() * most);
  return Array.from({ length: size }, () => ({
    id: count(),
    address: { group: `house-${house}`, isShared: false } as const,
    model: pick(models, chance),
    version: pick(versions, chance),
    language: pick(languages, chance),
    zone,
    isSafari: chance() < 0.9,
    runsScript: chance() < 0.97,
  }));
}

function makeVisit(phone: Phone, linkId: string, at: number): MadeVisit {
  const script = phone.runsScript ? describeScreen(phone) : undefined;
  const request = readRequest(writeAgent(phone), phone.language);
  const marks = joinMarks(readFingerprint({ ...script }), request);
  return { at, phone: phone.id, linkId, marks, address: phone.address };
}

function seeInstall(phone: Phone): SeenPhone {
  const { model, version, language } = phone;
  const fingerprint = {
    ...describeScreen(phone),
    os_version: `${version}.0`,
    device_model: model[0],
    languages: [language],
    simulator: false,
  };
  return { marks: readFingerprint(fingerprint), address: phone.address };
}

function describeScreen({ model: [, width, height, ratio], zone, language }: Phone) {
  return {
    screen_width: width,
    screen_height: height,
    device_pixel_ratio: ratio,
    timezone: zone,
    calendar: "gregory",
    language,
  };
}

/** As Safari and Chrome write it: the system's version is no longer updated since 26. */
function writeAgent({ version, isSafari }: Phone): string {
  const system = Number(version) >= 26 ? "18_6" : version.replace(".", "_");
  const browser = isSafari ? `Version/${version}` : "CriOS/142.0.7444.77";
  return (
    `Mozilla/5.0 (iPhone; CPU iPhone OS ${system} like Mac OS X) AppleWebKit/605.1.15 ` +
    `(KHTML, like Gecko) ${browser} Mobile/15E148 Safari/604.1`
  );
}

function pick<One>(list: readonly One[], chance: Share): One {
  // Every place below the length has an item.
  return list[Math.floor(chance() * list.length)] as One;
}
