/** Styles and scripts: below the sign-in page, because signed-out visitors need them too. */
export const assetPath = "/sign-in/files/";
