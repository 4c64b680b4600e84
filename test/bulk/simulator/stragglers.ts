import type { Chance } from "./chance.ts";
import type { VirtualTime } from "./virtual-time.ts";

/**
 * Late requests, whose senders have given up or were killed. They arrive at any time, and often
 * where it matters: just before or after another request for the same link.
 */
export type Stragglers = {
  readonly hold: (target: string | undefined, arrive: () => Promise<unknown>) => void;
  /** Lets some late requests for the same link arrive. */
  readonly letIn: (target: string | undefined) => Promise<void>;
};

type Straggler = {
  readonly target: string | undefined;
  readonly arrive: () => Promise<unknown>;
  readonly stop: () => void;
};

const latest_ms = 40_000;

export function createStragglers(
  { time, chance }: { readonly time: VirtualTime; readonly chance: Chance },
  complain: (text: string) => void,
): Stragglers {
  const held = new Set<Straggler>();
  return {
    hold: (target, arrive) => {
      const ring = () => {
        held.delete(straggler);
        arrive().catch((error: unknown) => complain(`a late request: ${String(error)}`));
      };
      const stop = time.setTimer(ring, chance.between(0, latest_ms));
      const straggler: Straggler = { target, arrive, stop };
      held.add(straggler);
    },
    letIn: async (target) => {
      if (target === undefined) return;
      const same = [...held].filter((straggler) => straggler.target === target);
      for (const straggler of chance.choose(same, 0.3)) {
        straggler.stop();
        held.delete(straggler);
        await straggler.arrive();
      }
    },
  };
}
