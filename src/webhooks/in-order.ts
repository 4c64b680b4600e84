import type { Delivery } from "../store/deliveries.ts";

/** Which events wait for which: what is about the same link is told in its order. */

/**
 * Does something with each of them, so many at once, and with what is about the same links one
 * after the other. When one of them ends in an error, all that have begun have ended before.
 */
export async function doInOrder(
  deliveries: readonly Delivery[],
  atOnce: number,
  work: (delivery: Delivery) => Promise<void>,
): Promise<void> {
  const inPlace = createPlaces(atOnce);
  const latest = new Map<string, Promise<void>>();
  const all = deliveries.map((delivery) => {
    const about = listAbout(delivery);
    const before = new Set(about.flatMap((one) => latest.get(one) ?? []));
    const ended = Promise.allSettled(before).then(() => inPlace(() => work(delivery)));
    for (const one of about) latest.set(one, ended);
    return ended;
  });
  for (const end of await Promise.allSettled(all)) {
    if (end.status === "rejected") throw end.reason;
  }
}

type Clicked = { readonly data: { readonly links: readonly { readonly id: string }[] } };

/** Its subject, and of a batch of clicks each of its links. */
function listAbout(delivery: Delivery): readonly string[] {
  return [delivery.subject, ...listClicked(delivery)];
}

/** Of a batch of clicks its links. */
export function listClicked({ event, body }: Delivery): readonly string[] {
  if (event !== "link.clicked") return [];
  // We wrote it ourselves (`store/link-events.ts`).
  const { data } = JSON.parse(body) as Clicked;
  return data.links.map(({ id }) => id);
}

/** Has no more done at once than there are places, those that came first before the others. */
function createPlaces(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  return async (work: () => Promise<void>): Promise<void> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
