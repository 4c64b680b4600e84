/** What only the pages of keys and settings have. */
export const operator = `
.scopes { display: grid; gap: var(--s2); align-content: start; }
.scopes > p { font-weight: 550; }
.limits { align-items: start; margin: 0; }
/* Nothing is chosen of what is all there. */
.key:has(#access option[value="full"]:checked) .limits { display: none; }
.granted { display: block; color: var(--soft); overflow-wrap: anywhere; }
.revoke { width: 8rem; } .when { width: 10.5rem; }
.set-by { display: block; font-size: var(--small); overflow-wrap: anywhere; }
td .set-to { font-weight: 550; }
.set-to { overflow-wrap: anywhere; }
@media (max-width: 47.99rem) { td .set-to { display: block; } }
.set-by code { white-space: nowrap; }
.from { width: 8.5rem; }
`;
