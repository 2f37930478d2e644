"""A shop whose home screen shows a fake search bar; the real field is on the next screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clawperator.engine.simulator.apps.effects import Effect, EffectTarget, do_nothing, go, go_back, put
from clawperator.engine.simulator.apps.view import (
    App,
    Scene,
    Screen,
    ViewSpec,
    button,
    column,
    icon_button,
    label,
    page,
    row,
    scroll_list,
    text_field,
    toolbar,
)

PACKAGE = "com.example.shop"


class Product(NamedTuple):
    name: str
    price: str
    rating: str
    note: str


PRODUCTS = (
    Product("Coffee grinder, burr", "$48.90", "4.6", "Sale: 15% off"),
    Product("Coffee beans 1 kg", "$17.50", "4.8", "Organic"),
    Product('Coffee mug "Monday"', "$9.99", "4.1", "Dishwasher safe"),
    Product("Cold brew coffee maker", "$24.99", "4.4", "In stock"),
    Product("Espresso machine", "$199.00", "4.3", "Only 2 left"),
    Product("Milk frother", "$14.25", "4.2", "In stock"),
    Product("Desk lamp", "$32.00", "4.5", "In stock"),
    Product("Desk <XL>, bamboo & steel", "$279.00", "4.7", "Delivery in 2 weeks"),
    Product("Notebook, dotted", "$6.40", "4.9", "Set of 3"),
    Product("USB-C cable 2 m", "$11.80", "4.0", "100 W"),
    Product("Wireless mouse", "$21.60", "4.3", "In stock"),
    Product("Mechanical keyboard", "$89.00", "4.8", "Brown switches"),
    Product("Headphones, over-ear", "$129.00", "4.6", "Noise cancelling"),
    Product("Water bottle 750 ml", "$18.00", "4.7", "Leak-proof"),
    Product("Yoga mat", "$27.30", "4.4", "6 mm"),
    Product("Running socks", "$12.00", "4.5", "3 pairs"),
)


def _search_products(actor: EffectTarget) -> None:
    """Show the results for the typed text; without text, stay."""
    if query := str(actor.state.get("query", "")).strip():
        actor.replace("results", query)


def _add_to_cart(name: str) -> Effect:
    return lambda actor: actor.state.update(cart=[*actor.state.get("cart", ()), name])


def _cart_button(scene: Scene) -> ViewSpec:
    count = len(scene.state["cart"])
    return icon_button(f"Cart, {count} item{'' if count == 1 else 's'}", go("cart"), id="menu_cart")


def _main(scene: Scene) -> Screen:
    decoy = ViewSpec(
        kind="TextView",
        id="search_bar",
        text="Search products",
        desc="Search products",
        tap=go("search"),
        height=52,
        look="hint",
    )
    deals = [_card(product) for product in PRODUCTS[:6]]
    bar = toolbar("Example Shop", actions=(_cart_button(scene),))
    title = label("Deals of the day", id="section_title", height=44, look="heading")
    body = scroll_list(title, *deals, id="deals_list", pad=12, gap=10)
    return Screen(root=page(bar, column(decoy, id="search_plate", pad=12), body))


def _search(scene: Scene) -> Screen:
    bar = row(
        icon_button("Navigate up", go_back, id="search_back", size=52),
        text_field(scene, "query", "What are you looking for?", id="search_src_text", submit=_search_products),
        icon_button("Search", _search_products, id="search_go_btn", size=52),
        id="search_edit_frame",
        height=64,
        gap=4,
        pad=4,
    )
    hints = [_suggestion(word) for word in ("coffee", "desk", "headphones")]
    return Screen(activity=".SearchActivity", root=page(bar, column(*hints, id="suggestions", weight=1, pad=12, gap=4)))


def _suggestion(word: str) -> ViewSpec:
    return label(word, id="suggestion", height=48, tap=go("results", word, instead=True))


def _results(scene: Scene) -> Screen:
    found = [product for product in PRODUCTS if scene.arg.casefold() in product.name.casefold()]
    bar = toolbar(f"Results for “{scene.arg}”", back=go_back, actions=(_cart_button(scene),))
    summary = f"{len(found)} result{'' if len(found) == 1 else 's'}"
    if not found:
        nothing = label("No products found", id="empty_view", height=64, look="heading")
        return Screen(activity=".ResultsActivity", root=page(bar, column(nothing, weight=1, pad=24)))
    cards = [_card(product) for product in found]
    body = scroll_list(label(summary, id="result_count", height=36), *cards, id="results_list", pad=12, gap=10)
    return Screen(activity=".ResultsActivity", root=page(bar, body))


def _card(product: Product) -> ViewSpec:
    facts = row(
        label(product.price, id="price", look="price"),
        label(f"★ {product.rating}", id="rating", desc=f"Rated {product.rating} of 5"),
        height=28,
    )
    name = label(product.name, id="product_title", height=30, look="heading")
    texts = column(name, facts, label(product.note, id="note", height=24), weight=1)
    picture = ViewSpec(kind="ImageView", id="thumbnail", width=72, height=72, look="image")
    return row(
        picture, texts, id="product_card", tap=go("product", product.name), height=108, pad=12, gap=12, look="card"
    )


def _product(scene: Scene) -> Screen:
    product = next((p for p in PRODUCTS if p.name == scene.arg), PRODUCTS[0])
    add = button("Add to cart", _add_to_cart(product.name), id="add_to_cart", look="primary")
    body = column(
        ViewSpec(kind="ImageView", id="hero", desc=product.name, height=220, look="image"),
        label(product.name, id="product_title", height=40, look="heading"),
        label(product.price, id="price", height=36, look="price"),
        _fact("Availability", product.note),
        _fact("Rating", f"{product.rating} of 5"),
        add,
        id="product_page",
        weight=1,
        pad=16,
        gap=8,
    )
    return Screen(
        activity=".ProductActivity",
        root=page(toolbar(product.name, back=go_back, actions=(_cart_button(scene),)), body),
    )


def _fact(name: str, value: str) -> ViewSpec:
    return row(label(name, id="fact_name"), label(value, id="fact_value"), id="fact", height=36)


def _cart(scene: Scene) -> Screen:
    names: Sequence[str] = scene.state["cart"]
    prices = {product.name: product.price for product in PRODUCTS}
    rows = [_fact(name, prices[name]) for name in names] or [label("Your cart is empty", id="empty_view", height=64)]
    total = sum(float(prices[name].lstrip("$")) for name in names)
    checkout = button("Checkout", do_nothing, id="checkout", enabled=bool(names), look="primary")
    body = column(
        scroll_list(*rows, id="cart_list"), _fact("Total", f"${total:.2f}"), checkout, weight=1, pad=16, gap=8
    )
    return Screen(activity=".CartActivity", root=page(toolbar("Cart", back=go_back), body))


def _sign_in(scene: Scene) -> Screen:
    """A form that is longer than what the keyboard leaves visible: it lies over half of the button, and over what is below."""
    body = column(
        label("Welcome back", id="brand", height=160, look="heading"),
        text_field(scene, "user", "User name", id="username"),
        label("Sign in to see your orders.", id="about", height=140),
        button("Forgot your password?", put("forgot", value=True), id="forgot", height=180),
        text_field(scene, "password", "Password", id="password", password=True),
        button("Sign in", put("signed_in", value=True), id="sign_in", look="primary"),
        weight=1,
        pad=16,
        gap=8,
    )
    return Screen(activity=".SignInActivity", root=page(toolbar("Sign in", back=go_back), body))


SHOP = App(
    package=PACKAGE,
    label="Shop",
    version_name="4.12.0",
    version_code=41_200,
    state={"query": "", "cart": [], "user": "", "password": ""},
    uris={"exampleshop://search/": "results", "https://shop.example/search/": "results"},
    screens={
        "main": _main,
        "search": _search,
        "results": _results,
        "product": _product,
        "cart": _cart,
        "sign_in": _sign_in,
    },
)
