import { base, controls, facts, frames } from "../../src/look/styles.ts";
import { tokens } from "../../src/look/tokens.ts";

/** The styles that the console shares with other pages, by their names in its style sheets. */
export const look = { page: tokens + base + controls + facts, frames };
