// The page and its worker run the same script. What only the page needs is evaluated there only.

import { isWorker, serve } from "./engine/helper";

if (isWorker()) serve();
else {
  const code = document.currentScript?.textContent ?? "";
  void import("./page").then(({ openPage }) => openPage(code));
}
