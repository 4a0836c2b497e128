"""The command `possibleworlds playground`."""

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

from typer import Option

from possibleworlds.cli.console import log, new_group
from possibleworlds.errors import UserError

app = new_group()


@app.command()
def playground(
    save: Annotated[
        Path | None,
        Option(metavar="FILE.html", help="Write the page to a file instead of opening it."),
    ] = None,
) -> None:
    """Open a page that shows truth tables, countermodels and networks with worlds.

    The page needs no server and no network connection: a saved file can be put on any web space.

    Examples:

        possibleworlds playground

        possibleworlds playground --save playground.html
    """
    from possibleworlds.playground import page

    path = save or Path(tempfile.mkdtemp(prefix="possibleworlds-")) / "playground.html"
    page.save(path)
    log(f"the playground is in {path}")
    if save is None and not webbrowser.open(path.absolute().as_uri()):
        raise UserError("no browser to open it with; --save FILE.html writes it where you like")
